"""`rackspan report`: makes one page of run folders, by the analysis, which is a program of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli.options import ReportFolderOption
from harness.cli.output import ConsoleProgress, out
from harness.cli.system_packages import BUILD, JAVA, install
from harness.common.atomic_files import write_aside
from harness.common.errors import Exit, RackspanError, usage_error
from harness.common.paths import project_root
from harness.common.progress import Progress
from harness.common.subprocesses import Finished, run
from harness.distribution.build import fetch_object_store

OBJECT_STORES = ("s3a://", "s3://")
PAGE, COUNTS = "report.html", "counts"
_ERROR = re.compile(r"^(.*)\n  observed: (.*)\n  do: +(.*)$", re.MULTILINE)
BEGIN, END = "<!-- report -->", "<!-- end -->"


@dataclass(frozen=True)
class Analysis:
    """The page that the analysis made, the outcome of each gate as a line, and the error where a gate was missed or a
    folder skipped.
    """

    page: Path
    outcomes: tuple[str, ...] = ()
    missed: RackspanError | None = None


def runs_folder() -> Path:
    """The folder of all run folders."""
    return project_root() / "runs"


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FOLDER",
            help="Run folders, or URLs of such (s3a://BUCKET/FOLDER).",
            show_default="the newest benchmark, all parts of its campaign",
        ),
    ] = None,
    to: ReportFolderOption = None,
    gate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Gates that the report must meet, as YAML (docs/results/gates.yaml); exit code 1 if one is missed.",
            show_default="no gates",
        ),
    ] = None,
    from_counts: Annotated[
        Path | None,
        typer.Option(
            "--from-counts",
            metavar="FOLDER",
            help="Compute a page again from the counts beside it, without run folders and Spark: its folder.",
            show_default="from run folders",
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Markdown file whose lines between <!-- report --> and <!-- end --> are replaced by the tables; "
            "the counts behind them are put into the folder counts beside it.",
            show_default="no file",
        ),
    ] = None,
) -> None:
    """Write one HTML report on run folders: refused and acknowledged records, latency, outages."""
    if runs and from_counts:
        raise usage_error(
            "two sources for one page",
            observed=f"{len(runs)} run folder(s) and --from-counts {from_counts}",
            do="name run folders or --from-counts, not both",
        )
    if gate:
        check_gates(gate)
    frame = None if into is None else frame_of(into)
    progress = ConsoleProgress()
    if from_counts:
        made = recompute(from_counts, to or project_root() / "build" / "recomputed", progress, gate)
    else:
        chosen = runs or [str(run) for run in newest(runs_folder())]
        install([JAVA], progress)
        prepare_object_store(chosen, progress)
        made = analyse(chosen, to or project_root() / "build" / "report", progress, gate)
    if into and frame:
        tables = made.page.with_name("report.md").read_text(encoding="utf-8")
        write_aside(into, frame[0] + re.sub("^## ", "### ", tables, flags=re.MULTILINE) + frame[1])
        _put_counts(made.page.with_name(COUNTS), counts_of(into))
    for line in (*made.outcomes, str(made.page)):
        out.print(line, markup=False)
    if made.missed:
        raise made.missed


def prepare_object_store(runs: Sequence[str], progress: Progress) -> None:
    """Fetches the jars with which Spark reads an object store, if one of the folders is there."""
    if any(run.startswith(OBJECT_STORES) for run in runs):
        install([*BUILD], progress)
        fetch_object_store(progress)


def frame_of(document: Path) -> tuple[str, str]:
    """A document's text before and after the place of a report. Raises RackspanError (exit code 2)."""
    try:
        text = document.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise usage_error(f"cannot read {document}", observed=str(e), do="name a Markdown file") from e
    frame = re.fullmatch(f"(.*^{BEGIN}\n).*?(^{END}$.*)", text, flags=re.MULTILINE | re.DOTALL)
    if not frame or text.count(BEGIN) > 1:
        observed = f"{text.count(BEGIN)} times {BEGIN}" + ("" if frame else f" with {END} behind it")
        raise usage_error(
            f"{document} has no place for a report",
            observed=observed,
            do=f"write one line {BEGIN} into it, and one line {END} below",
        )
    return frame[1], frame[2]


def counts_of(document: Path) -> Path:
    """The folder of the counts behind the tables of a document."""
    return document.parent / COUNTS / document.stem


def _put_counts(counts: Path, to: Path) -> None:
    """Copies the counts of a page into the place of older ones."""
    if counts.resolve() == to.resolve():
        return
    aside = to.with_name(f".{to.name}.{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(counts, aside)
    shutil.rmtree(to, ignore_errors=True)
    aside.replace(to)


def newest(folder: Path) -> list[Path]:
    """The newest benchmark with all parts of its campaign; where there is none, the newest run of each name.

    Raises RackspanError (exit code 2) if there is no run.
    """
    found = {p.parent: _manifest(p) for p in sorted(folder.glob("*/manifest.json"))}
    ended = [p for p, manifest in found.items() if manifest.get("state") in ("finished", "failed")]
    benches = [p for p in ended if found[p].get("kind") == "bench" or _campaign(found[p])]
    if benches:
        campaign = _campaign(found[benches[-1]])
        return [p for p in benches if campaign and _campaign(found[p]) == campaign] or benches[-1:]
    names = {path.name.partition("-")[2]: path for path in found}
    if not names:
        raise usage_error(
            "no run folder found",
            observed=f"{folder} has none",
            do="make one with `rackspan bench quiet`",
        )
    return list(names.values())


def _manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run; empty if it cannot be read, which the analysis reports."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        _campaign(manifest)
        return manifest
    return {}


def _campaign(manifest: dict[str, Any]) -> str:
    return str(manifest.get("spec", {}).get("campaign", {}).get("id", ""))


def write(runs: list[Path], to: Path, progress: Progress) -> Path:
    """Runs the analysis on run folders and returns the page's path. Raises RackspanError with what it reported."""
    return analyse(runs, to, progress).page


def analyse(runs: Sequence[Path | str], to: Path, progress: Progress, gate: Path | None = None) -> Analysis:
    """Runs the analysis on run folders, with a file of gates or none. Raises RackspanError with what it reported."""

    def failure(done: Finished) -> RackspanError:
        return RackspanError(
            "the analysis failed",
            observed="\n".join(done.reported[-20:]) or "no output",
            do="name run folders that are complete",
            code=_code(done),
        )

    # All reports share one cache: a later report on several runs reuses what a benchmark's own has computed.
    arguments = ["report", *map(str, runs), "--out", str(to), "--cache", str(project_root() / "build" / "analysis")]
    return _analysed(arguments, gate, progress, f"report on {len(runs)} run(s), by PySpark", failure)


def recompute(counts: Path, to: Path, progress: Progress, gate: Path | None = None) -> Analysis:
    """Computes a page again from the counts beside it. Raises RackspanError for counts that cannot be read."""

    def failure(done: Finished) -> RackspanError:
        code = _code(done)
        return _error(done.reported, code) or RackspanError(
            f"no page could be computed from {counts}",
            observed="\n".join(done.reported[-20:]) or "no output",
            do="see the lines above",
            code=code,
        )

    arguments = ["recompute", str(counts.absolute()), "--out", str(to)]
    return _analysed(arguments, gate, progress, "report from counts", failure)


def _analysed(
    arguments: list[str],
    gate: Path | None,
    progress: Progress,
    step: str,
    failure: Callable[[Finished], RackspanError],
) -> Analysis:
    """Runs the analysis; raises the failure where it made no page."""
    command = [sys.executable, "-m", "spark_analysis", *arguments]
    command += ["--gate", str(gate.absolute())] if gate else []
    with progress.step(step) as update:
        done = run(command, update, {"PYSPARK_PYTHON": sys.executable})
        *outcomes, page = done.printed.splitlines() or [""]
        missed = _error(done.reported, _code(done)) if done.code and page else None
        if done.code and not missed:
            raise failure(done)
    for line in done.reported:
        if "skipped" in line or "other programs" in line:
            progress.note(line)
    return Analysis(Path(page), tuple(outcomes), missed)


def _code(done: Finished) -> Exit:
    """The exit code of the analysis."""
    return Exit(done.code) if done.code in list(Exit) else Exit.DEFECT


def check_gates(gate: Path) -> None:
    """Raises RackspanError (exit code 2) if the analysis refuses a file of gates; computes nothing."""
    done = run([sys.executable, "-m", "spark_analysis", "gates", str(gate.absolute())], lambda line: None)
    if done.code:
        raise _error(done.reported, Exit.USAGE) or RackspanError(
            f"{gate} could not be checked", observed="\n".join(done.reported[-20:]), do="see the lines above"
        )


def _error(reported: tuple[str, ...], code: Exit) -> RackspanError | None:
    """The last error in three parts that the analysis reported, as a RackspanError; None if there is none."""
    found = _ERROR.findall("\n".join(reported))
    return RackspanError(found[-1][0], observed=found[-1][1], do=found[-1][2], code=code) if found else None
