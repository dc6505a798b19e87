"""Scripts of a distribution run as a user runs them: with Kafka's own JVM flags, until they have ended."""

from __future__ import annotations

import subprocess
from collections.abc import Container, Sequence
from pathlib import Path

from harness.common.errors import RackspanError

SECONDS = 300.0


def script_output(line: Sequence[str], folder: Path, failed: str, answers: Container[int] = (0,)) -> bytes:
    """Standard output of a command line; `folder` is for the script's own logs.

    Raises RackspanError with the text `failed` where the exit code is none of `answers`.
    """
    environment = {"PATH": "/usr/bin:/bin", "LOG_DIR": str(folder)}
    ran = subprocess.run(line, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    if ran.returncode not in answers:
        raise RackspanError(
            failed,
            observed=(ran.stderr or ran.stdout).decode(errors="replace")[-2000:] or f"exit code {ran.returncode}",
            do="correct what it names",
        )
    return ran.stdout
