"""`rackspan check`: the checker on run folders whose replicas were read back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import ReportFolderOption, is_url
from harness.cli.output import ConsoleProgress
from harness.cli.report import prepare_object_store
from harness.common.paths import project_root


def check(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Run folders of a soak, each read back from every replica, or URLs of such (s3a://BUCKET/FOLDER).",
        ),
    ],
    to: ReportFolderOption = None,
) -> None:
    """Check run folders again for lost acknowledged records; exit code 1 if there are any, 3 if a log was not read."""
    prepare_object_store(runs, ConsoleProgress())
    places = [run if is_url(run) else str(Path(run).absolute()) for run in runs]
    command = [sys.executable, "-m", "spark_analysis", "check", *places]
    command += ["--out", str((to or project_root() / "build" / "check").absolute())]
    done = subprocess.run(command, cwd=project_root(), env={**os.environ, "PYSPARK_PYTHON": sys.executable})
    raise typer.Exit(done.returncode)
