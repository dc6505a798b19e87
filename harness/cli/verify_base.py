"""`rackspan verify-base`: the patches on other bases than the product's, from the build to an outage."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.options import ResultsOption
from harness.cli.output import ConsoleProgress, err, out
from harness.cli.system_packages import BUILD, install
from harness.cli.test import results_folder
from harness.common.errors import Exit, usage_error
from harness.common.paths import project_root
from harness.distribution.build import gradle
from harness.distribution.locate import find
from harness.ducktape_support.session import run_suite

# What the patches change most, and the only one of upstream's tests that is worth its time on every change.
UPSTREAM = "kafka.cluster.PartitionTest"
OUTAGE = "system_tests/rack_outage/rack_down_test.py"


def verify_base(
    bases: Annotated[
        list[str] | None,
        typer.Argument(metavar="BASE", help="Versions of Kafka in kafka-patch/bases.", show_default="all of them"),
    ] = None,
    results: ResultsOption = None,
) -> None:
    """Build on other versions of Kafka, and there run upstream's PartitionTest and the outage of a rack."""
    progress = ConsoleProgress()
    known = sorted(p.parent.name for p in (project_root() / "kafka-patch" / "bases").glob("*/upstream.toml"))
    for base in bases or []:
        if base not in known:
            raise usage_error(f"base {base} not found", observed=f"known: {', '.join(known)}", do="name one of them")
    install(BUILD, progress)
    folder = (results or results_folder() / "system").resolve()
    failed = False
    gradle(["loadClient"], "build: load client", progress)
    for base in bases or known:
        tasks = ["checkPatches", "checkChanges", "upstreamTests", f"-Pclasses={UPSTREAM}"]
        gradle(tasks, f"{base}: patches, build, changed classes, {UPSTREAM.rpartition('.')[2]}", progress, base)
        distribution = find("rackspan", project_root() / "build" / "bases" / base / "dist")
        outage = run_suite([OUTAGE], folder, {"distribution": str(distribution.home)}, progress, attempts=2)
        err.print("\n".join(outage.lines()), markup=False)
        failed = failed or bool(outage.failed) or outage.code != Exit.OK
        out.print(str(distribution.home), markup=False)
    if failed:
        raise typer.Exit(Exit.FAILED)
