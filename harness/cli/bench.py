"""`rackspan bench`: modes of writing against each other on a real cluster, from the workload to the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from harness import workload as workloads
from harness.backends import BACKENDS
from harness.cli import report
from harness.cli.output import Ticks, err, out
from harness.home import project_root
from harness.scenarios.bench import run_bench


def complete_workload(incomplete: str) -> list[str]:
    return [name for name in workloads.shipped() if name.startswith(incomplete)]


def bench(
    workload: Annotated[
        str, typer.Argument(help="A shipped workload, or the path of a YAML file.", autocompletion=complete_workload)
    ],
    to: Annotated[Path | None, typer.Option("--out", help="Folder for the page, report.json and tables.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Blocks per mode; six carry a verdict.")] = None,
    block: Annotated[float | None, typer.Option(min=1, help="Seconds of a block, and of its fault.")] = None,
    warmup: Annotated[float | None, typer.Option(min=0, help="Seconds of warm-up.")] = None,
    backend: Annotated[
        str | None, typer.Option(help=f"Where nodes run: {', '.join(BACKENDS)}; else as the workload says.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the order of the modes; by default a new one.")] = None,
) -> None:
    """Compare ways of writing on a real cluster, in blocks that take turns, and write a page about it."""
    chosen = workloads.load(workload).changed(rounds=rounds, seconds=block, warmup=warmup)
    chosen = chosen.on(backend or chosen.cluster.backend)
    progress = Ticks()
    run = run_bench(report.runs_folder(), chosen, seed=seed, progress=progress)
    page = report.write([run], to or project_root() / "build" / "bench" / chosen.name, progress)
    told = json.loads(page.with_name("report.json").read_text(encoding="utf-8"))["runs"][0]
    for line in [*told["findings"], *told["warnings"]]:
        err.print(line, markup=False)
    out.print(str(page), markup=False)
