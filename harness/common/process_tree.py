"""Processes and their parents: who is whose, and ending when the parent is gone, however it went."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def end_with_parent(number: signal.Signals) -> None:
    """Asks the kernel to send this process that signal when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number))


def adopt_orphans() -> None:
    """Asks the kernel to make this process the parent of descendants that lose theirs; it then has to wait for them."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_on_signals(first: Callable[[], None] | None = None) -> None:
    """Has SIGTERM and SIGINT end this program as Ctrl-C does, after calling `first`; programs that it starts end on
    them too.

    A shell has what it starts in the background ignore SIGINT, and so do the programs started by that.
    """

    def handler(number: int, frame: FrameType | None) -> NoReturn:
        if first is not None:
            first()
        interrupt(number, frame)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """A handler by which SIGTERM ends a program as Ctrl-C does: what it has is torn down."""
    raise KeyboardInterrupt


def children(parent: int) -> list[int]:
    """Processes whose parent that is and that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, ppid = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
            if int(ppid) == parent and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


def identity() -> tuple[int, int]:
    """This process as /proc shows it to those outside its pid namespace: pid and start time."""
    stat = Path("/proc/self/stat").read_text()
    return int(stat.split()[0]), int(stat.rpartition(")")[2].split()[19])
