"""Building what the harness runs: distributions and the load client, through Gradle."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence

from harness.errors import RackspanError, environment_error
from harness.home import locked_wait, project_root
from harness.progress import Progress

TASKS = ("dist", "stockDist", "loadClient")


def gradle(tasks: Sequence[str], label: str, progress: Progress) -> str:
    """Runs Gradle tasks and returns their standard output; Gradle itself leaves out what is up to date.

    Raises RackspanError with the end of what Gradle said (exit code 1; 4 without Gradle).
    """
    program = shutil.which("gradle")
    if program is None:
        raise environment_error(
            "cannot build",
            seen="gradle is not on PATH",
            do="install it: apt-get install gradle, or run ./rackspan as root",
        )
    command = [program, "--no-daemon", "-q", f"-Ppython={sys.executable}", *tasks]
    last: list[str] = []
    with locked_wait(project_root() / "build" / ".lock"), progress.step(label) as seen:
        with subprocess.Popen(
            command,
            cwd=project_root(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stderr is not None and process.stdout is not None
            for line in process.stderr:
                last.append(line.rstrip())
                seen(line.strip())
            printed = process.stdout.read()
        if process.returncode:
            raise RackspanError(
                f"gradle {' '.join(tasks)} failed", seen="\n".join(last[-40:]), do="mend what it names and run it again"
            )
    return printed


def build(progress: Progress) -> None:
    """Brings both distributions and the load client up to date."""
    gradle(TASKS, "build: patched distribution, stock distribution, load client", progress)
