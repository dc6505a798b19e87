"""`rackspan check`: the checker on run folders whose replicas were read back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import ReportFolderOption
from harness.common.paths import project_root


def check(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders of a soak, each read back from every replica.")
    ],
    to: ReportFolderOption = None,
) -> None:
    """Check run folders again for lost acknowledged records; exit code 1 if there are any, 3 if a log was not read."""
    command = [sys.executable, "-m", "spark_analysis", "check", *(str(run.absolute()) for run in runs)]
    command += ["--out", str((to or project_root() / "build" / "check").absolute())]
    done = subprocess.run(command, cwd=project_root(), env={**os.environ, "PYSPARK_PYTHON": sys.executable})
    raise typer.Exit(done.returncode)
