"""Running a program that reports its progress on standard error and prints its result on standard output."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.common.paths import project_root
from harness.common.progress import Update


@dataclass(frozen=True)
class Finished:
    """Exit code, standard output, and the lines of standard error."""

    code: int
    printed: str
    reported: tuple[str, ...]


def run(command: Sequence[str], update: Update, environment: Mapping[str, str] | None = None) -> Finished:
    """Runs a program in the project's root; each line of its standard error goes to `observed` as it comes.

    The program is ended if this process is interrupted meanwhile.
    """
    reported: list[str] = []
    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        process = subprocess.Popen(
            command,
            cwd=project_root(),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, **(environment or {})},
        )
        assert process.stderr is not None
        try:
            for line in process.stderr:
                reported.append(line.rstrip())
                update(line.strip())
            code = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        printed.seek(0)
        return Finished(code, printed.read(), tuple(reported))
