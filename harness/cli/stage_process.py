"""The process of a stage: runs its command, adopts what that leaves behind, and records the processor time of all.

python -m harness.cli.stage_process FILE COMMAND...

Brokers outlive the scripts that start them. Here, and not with the machine's first process, they find a new parent; so
their time counts, and whoever ends the stage finds them.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType

import psutil

from harness.common.errors import RackspanError
from harness.common.process_tree import adopt_orphans, end_with_parent
from harness.common.wait import wait_for

GRACE = 10.0  # seconds that processes have to end by themselves when the command is over


def main() -> int:
    """Runs a command; its exit code, as a shell gives it. Writes seconds of processor time to the file."""
    seconds, *command = sys.argv[1:]
    adopt_orphans()
    started: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        if not started:
            sys.exit(128 + number)
        with suppress(ProcessLookupError):
            os.kill(started[0], number)

    signal.signal(signal.SIGTERM, forward)
    process = subprocess.Popen(command, process_group=0, preexec_fn=partial(end_with_parent, signal.SIGTERM))
    started.append(process.pid)
    code = _wait(process.pid)
    process.returncode = code  # it was waited for here
    _end_leftovers()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    Path(seconds).write_text(f"{used.ru_utime + used.ru_stime:.1f}\n", encoding="utf-8")
    return code if code >= 0 else 128 - code


def _wait(pid: int) -> int:
    """Waits for the process, and for each adopted one that ends; the exit code, negative for a signal."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def _end_leftovers() -> None:
    """Kills what does not end by itself soon after the command: it would hold the stage's output open for ever."""
    with suppress(RackspanError):
        wait_for("adopted processes to end", lambda: not _leftovers(), GRACE)
    for process in (left := _leftovers()):
        print(f"still running after the command, killed: {process}", flush=True)
        with suppress(psutil.NoSuchProcess):
            process.kill()
    if left:
        with suppress(RackspanError):
            wait_for("killed processes to end", lambda: not _leftovers(), GRACE)


def _leftovers() -> list[psutil.Process]:
    """Descendants that run; those that ended are waited for."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    found: list[psutil.Process] = psutil.Process().children(recursive=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
