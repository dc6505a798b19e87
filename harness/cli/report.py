"""`rackspan report`: run folders become one page. The analysis is a program of its own, started here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.output import Ticks, out
from harness.errors import RackspanError, usage_error
from harness.home import project_root
from harness.program import run
from harness.progress import Progress

PAGE = "report.html"


def runs_folder() -> Path:
    """Where run folders are made."""
    return project_root() / "runs"


def report(
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders; without any: the newest of each kind.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--out", help="Folder for the page, report.json and tables.")] = None,
) -> None:
    """Make one HTML page of run folders: what was refused, what was acknowledged, how long it took."""
    chosen = runs or newest()
    out.print(str(write(chosen, to or project_root() / "build" / "report", Ticks())), markup=False)


def newest() -> list[Path]:
    """The newest run folder of each name. Raises RackspanError (exit code 2) if there is none."""
    found: dict[str, Path] = {}
    for folder in sorted(p.parent for p in runs_folder().glob("*/manifest.json")):
        found[folder.name.partition("-")[2]] = folder
    if not found:
        raise usage_error(
            "there is no run to report on", seen=f"no run folder in {runs_folder()}", do="make one with `rackspan run`"
        )
    return list(found.values())


def write(runs: list[Path], to: Path, progress: Progress) -> Path:
    """Runs the analysis on run folders and returns the page's path. Raises RackspanError with what it said."""
    command = [sys.executable, "-m", "spark_analysis", "report", *map(str, runs), "--out", str(to)]
    with progress.step(f"report on {len(runs)} run(s), by PySpark") as seen:
        done = run(command, seen, {"PYSPARK_PYTHON": sys.executable})
        if done.code:
            raise RackspanError(
                "the analysis failed",
                seen="\n".join(done.told[-20:]) or "nothing",
                do="give run folders that are whole",
            )
    for line in done.told:
        if "left out" in line:
            progress.note(line)
    return Path(done.printed.strip())
