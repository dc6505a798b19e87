"""`rackspan bench`: compares modes of writing on real clusters, from the campaign to the report."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.backends import BACKENDS
from harness.benchmark import campaign as campaigns
from harness.benchmark import workload as workloads
from harness.benchmark.campaign import Campaign, Outage
from harness.benchmark.workload import Workload
from harness.cli import report
from harness.cli.options import BlockOption, ReportFolderOption, RoundsOption, WarmupOption
from harness.cli.output import ConsoleProgress, err, out
from harness.cli.system_packages import JAVA, NETWORKS, install
from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.spec.cluster_spec import parse


def complete_workload(incomplete: str) -> list[str]:
    return [name for name in workloads.shipped() if name.startswith(incomplete)]


def bench(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD",
            help="Name of a workload or campaign in campaigns/, or the path of a YAML file.",
            autocompletion=complete_workload,
        ),
    ],
    to: ReportFolderOption = None,
    rounds: RoundsOption = None,
    block: BlockOption = None,
    warmup: WarmupOption = None,
    backend: Annotated[
        str | None,
        typer.Option(metavar="|".join(BACKENDS), help="Where the nodes run.", show_default="as the workload says"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Seed of the order of the modes.", show_default="a new one")
    ] = None,
) -> None:
    """Compare modes of writing on a real cluster, in blocks that take turns, and write a report."""
    chosen = campaigns.load(workload).changed(rounds=rounds, seconds=block, warmup=warmup).on(backend)
    progress = ConsoleProgress()
    backends = {part.backend if isinstance(part, Outage) else part.cluster.backend for part in chosen.parts}
    install([JAVA, *([NETWORKS] if "netns" in backends else [])], progress)
    runs, failed = _parts(chosen, seed, progress)
    for line in failed:
        err.print(f"not measured: {line}", markup=False)
    page = report.write(runs, to or project_root() / "build" / "bench" / chosen.name, progress)
    reported = json.loads(page.with_name("report.json").read_text(encoding="utf-8"))
    lines = [line for run in reported["runs"] for line in [*run["findings"], *run["warnings"]]]
    for line in [*lines, *(line for trials in reported["trials"] for line in trials["findings"])]:
        err.print(line, markup=False)
    out.print(str(page), markup=False)
    if failed:
        raise typer.Exit(Exit.FAILED)


def _parts(chosen: Campaign, seed: int | None, progress: ConsoleProgress) -> tuple[list[Path], list[str]]:
    """Runs every part, also after one that fails; returns the run folders of those that ended, and the errors of the
    others.

    Raises RackspanError if none ended.
    """
    total = len(chosen.parts)
    campaign = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{chosen.name}"
    runs, failures = [], []
    for number, part in enumerate(chosen.parts, 1):
        if total > 1:
            progress.note(f"part {number} of {total}: {part.name}")
        place = {"name": chosen.name, "id": campaign, "part": number, "parts": total}
        try:
            # Trials of one workload must not all have the same order.
            own = None if seed is None else seed + chosen.parts[: number - 1].count(part)
            runs.append(_run(part, own, place, progress))
        except RackspanError as e:
            failures.append((part.name, e))
    if not runs:
        raise failures[0][1]
    return runs, [f"{name}: {e.brief}" for name, e in failures]


def _run(part: Workload | Outage, seed: int | None, campaign: dict[str, Any], progress: ConsoleProgress) -> Path:
    from harness.benchmark.outage import Stretches, run_outage
    from harness.benchmark.run import run_bench  # here: every command would wait for this import

    if isinstance(part, Workload):
        return run_bench(report.runs_folder(), part, seed=seed, campaign=campaign, progress=progress)
    spec = parse({"name": part.name, "backend": part.backend})
    stretches = None if part.seconds is None else Stretches(*[part.seconds] * 4)
    return run_outage(report.runs_folder(), spec=spec, stretches=stretches, campaign=campaign, progress=progress)
