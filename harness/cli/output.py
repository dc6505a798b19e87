"""Output of the command: data on standard output, progress on standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from harness.common.progress import Progress, Update

out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)
err = Console(stderr=True, highlight=False, soft_wrap=True)


WRAPPED = ("ERROR", "OBSERVED", "UNAVAILABLE")  # columns of free text; all others stay on one line


class Format(StrEnum):
    """Output format of a listing."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


_at_work: set[object] = set()  # steps of this program


def announce_end() -> None:
    """Says at once that an interrupt has come, where steps are at work: what they started takes its time to end."""
    if _at_work:
        # a handler of signals may interrupt any lock of the console
        os.write(2, b"\ninterrupted: ending what is at work and removing what it made; this can take a minute\n")
        _at_work.clear()


class ConsoleProgress(Progress):
    """Prints a line with a tick and seconds for each step that ended; on a terminal also a spinner with what is waited
    for. Steps may run side by side, in threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spinner = err.status("")
        self._waiting: dict[object, str] = {}

    @contextlib.contextmanager
    def step(self, label: str) -> Iterator[Update]:
        started = time.monotonic()
        key = object()
        _at_work.add(key)
        self._show(key, label)
        try:
            yield lambda text: self._show(key, f"{label}: {text[:100]}")
        except BaseException:
            self._end(key, f"[red]✗[/] {escape(label)} ({time.monotonic() - started:.1f} s)")
            raise
        self._end(key, f"[green]✓[/] {escape(label)} ({time.monotonic() - started:.1f} s)")

    def _show(self, key: object, text: str) -> None:
        if err.is_terminal:
            with self._lock:
                self._waiting[key] = escape(text)
                self._spinner.update("\n  ".join(self._waiting.values()))
                self._spinner.start()

    def _end(self, key: object, line: str) -> None:
        _at_work.discard(key)
        with self._lock:
            self._waiting.pop(key, None)
            if self._waiting:
                self._spinner.update("\n  ".join(self._waiting.values()))
            elif err.is_terminal:
                self._spinner.stop()
        err.print(line)

    def note(self, text: str) -> None:
        err.print(f"  {escape(text)}")


def data(value: Any, form: Format) -> None:
    """Prints plain data as JSON or YAML."""
    text = json.dumps(value, indent=2) if form is Format.JSON else yaml.safe_dump(value, sort_keys=False).rstrip()
    out.print(text, markup=False)


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table; None shows as a dash, and a Text with its own style."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column not in WRAPPED)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else _plain(cell) for cell in row))
    return made


def _plain(cell: object) -> str:
    return escape("-" if cell is None or cell == "" else str(cell))
