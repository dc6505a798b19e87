"""`rackspan soak`: load and seeded faults, cycle after cycle, each evaluated by the checker."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated

import typer

from harness.backends import BACKENDS
from harness.cli import report
from harness.cli.output import ConsoleProgress, err, out
from harness.cli.system_packages import JAVA, NETWORKS, install
from harness.common.errors import Exit
from harness.common.paths import project_root
from harness.spec.cluster_spec import parse

HEAP = {"broker": "256m", "controller": "128m"}


def soak(
    cycles: Annotated[int, typer.Option(min=1, help="How many cycles.")] = 3,
    seed: Annotated[
        int | None, typer.Option(help="Of all faults; the same seed replays them. Default: a new one.")
    ] = None,
    first: Annotated[
        int, typer.Option(min=1, help="Number of the first cycle: replays one, or carries on a soak.")
    ] = 1,
    racks: Annotated[
        str, typer.Option(help="Brokers per rack; q:0 is a place for the controllers alone.")
    ] = "q:0,a:1,b:1,c:1",
    controllers: Annotated[int, typer.Option(min=1, help="How many controllers.")] = 1,
    distribution: Annotated[str, typer.Option(help="rackspan, stock, or a folder.")] = "rackspan",
    min_racks: Annotated[int, typer.Option(min=0, help="min.insync.racks of the topics; 0: not set, as in stock.")] = 2,
    rate: Annotated[float, typer.Option(min=1, help="Records per second of each of the two producers.")] = 100,
    faults: Annotated[
        str, typer.Option(help="Only these, as kill,power_cut:rack. Default: all that the backend can do.")
    ] = "",
    backend: Annotated[str, typer.Option(help="docker: also cuts; netns: also delays and loss.")] = "local",
    to: Annotated[Path | None, typer.Option("--out", help="Folder for soak.md, soak.json, check.html.")] = None,
) -> None:
    """Alternate load and faults, read every replica back after each cycle, and look for lost acknowledgements."""
    from harness.soak.run import run_soak  # here, as every command would wait for what it imports
    from harness.soak.schedule import kinds_of

    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    data = {"name": "soak", "distribution": distribution, "racks": racks, "controllers": controllers}
    spec = parse({**data, "backend": backend, "heap": HEAP, "metrics": False})
    kinds = kinds_of(faults, BACKENDS[spec.backend].capabilities)
    place = to or project_root() / "build" / "soak"
    progress = ConsoleProgress()
    install([JAVA, *([NETWORKS] if backend == "netns" else [])], progress)
    err.print(f"seed {seed}", markup=False)
    done = run_soak(
        report.runs_folder(),
        place,
        spec,
        cycles=cycles,
        seed=seed,
        rate=rate,
        min_racks=min_racks,
        first=first,
        kinds=kinds,
        progress=progress,
    )
    out.print(f"{done.by_kind()}\n\n{done.table()}", markup=False, soft_wrap=True)
    if not done.good:
        err.print(f"not all is well: see {place / 'check.html'}", markup=False)
        raise typer.Exit(Exit.FAILED)
