"""`rackspan soak`: cycles of load and seeded faults, each evaluated by the checker."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated

import typer

from harness.backends import BACKENDS
from harness.cli import report
from harness.cli.output import ConsoleProgress, err, out
from harness.cli.system_packages import JAVA, NETWORKS, install
from harness.common.errors import Exit, usage_error
from harness.common.paths import project_root
from harness.spec.cluster_spec import parse
from harness.spec.rackspan_level import at_level

HEAP = {"broker": "256m", "controller": "128m"}


def soak(
    cycles: Annotated[int, typer.Option(min=1, metavar="COUNT", help="Number of cycles.")] = 3,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Seed of all faults; the same seed replays them.", show_default="a new one"
        ),
    ] = None,
    first: Annotated[
        int,
        typer.Option(min=1, metavar="NUMBER", help="Number of the first cycle, to replay one or to continue a soak."),
    ] = 1,
    racks: Annotated[
        str,
        typer.Option(metavar="RACK:COUNT,...", help="Number of brokers in each rack; q:0 has only controllers."),
    ] = "q:0,a:1,b:1,c:1",
    controllers: Annotated[int, typer.Option(min=1, metavar="COUNT", help="Number of controllers.")] = 1,
    distribution: Annotated[
        str, typer.Option(metavar="rackspan|stock|FOLDER", help="Kafka distribution that the nodes run.")
    ] = "rackspan",
    min_racks: Annotated[
        int, typer.Option(min=0, metavar="COUNT", help="Value of min.insync.racks of the topics; 0 leaves it unset.")
    ] = 2,
    rate: Annotated[float, typer.Option(min=1, metavar="RECORDS", help="Records per second of each producer.")] = 100,
    faults: Annotated[
        str,
        typer.Option(
            metavar="KIND,...",
            help="Draw only these kinds of fault, as kill,power_cut:rack.",
            show_default="all that the backend can inject",
        ),
    ] = "",
    faults_per_cycle: Annotated[
        int,
        typer.Option(
            min=1, metavar="COUNT", help="Number of faults of a cycle; every second cycle or so has one more."
        ),
    ] = 1,
    backend: Annotated[
        str,
        typer.Option(
            metavar="|".join(BACKENDS),
            help="Where the nodes run; docker and ssh add cuts, netns adds cuts, delays and loss.",
        ),
    ] = "local",
    level: Annotated[
        int | None,
        typer.Option(
            metavar="1|2",
            help="Level of rackspan.version.",
            show_default="the distribution's",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FOLDER", help="Folder for soak.md, soak.json and check.html.", show_default="build/soak"
        ),
    ] = None,
) -> None:
    """Run cycles of load and faults, read every replica after each cycle, and check for lost acknowledged records."""
    from harness.soak.run import run_soak  # here: every command would wait for this import
    from harness.soak.schedule import kinds_of

    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    data = {"name": "soak", "distribution": distribution, "racks": racks, "controllers": controllers}
    if level not in (None, 1, 2):
        raise usage_error(f"level {level} not found", observed=f"--level {level}", do="choose 1 or 2")
    data |= at_level(level) if level else {}
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
        faults_per_cycle=faults_per_cycle,
        progress=progress,
    )
    out.print(done.text(), markup=False, soft_wrap=True)
    if code := done.exit_code:
        unknown = "not known: a log was not read, or no record was acknowledged"
        observed = "some cycles failed" if code == Exit.FAILED else unknown
        err.print(f"{observed}: see {place / 'check.html'}", markup=False)
        raise typer.Exit(code)
