"""Runs the `rackspan` command as a user does: as a program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from harness.backends.local import LocalBackend

PROGRAM = [sys.executable, "-m", "harness"]


def rackspan(*args: str, home: Path, seconds: float = 90) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    return subprocess.run([*PROGRAM, *args], capture_output=True, text=True, env=environment(home), timeout=seconds)


def begin(*args: str, home: Path, background: bool = False) -> subprocess.Popen[str]:
    """Begins the command, in a session of its own; or as `nohup rackspan ... &` in a script does."""
    return subprocess.Popen(
        [*PROGRAM, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home),
        start_new_session=True,
        preexec_fn=in_background if background else None,
    )


def in_background() -> None:
    """Runs in a new process: a shell has what it starts in the background ignore SIGINT, and nohup SIGHUP."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def environment(home: Path) -> dict[str, str]:
    """This process' environment with that state home; columns wide enough that no cell is folded."""
    return os.environ | {"RACKSPAN_HOME": str(home), "COLUMNS": "300"}


def processes(home: Path, cluster: str) -> int:
    """Number of processes of a cluster."""
    return len(LocalBackend().leftovers(str(home / "clusters" / cluster)))
