"""`rackspan verify-stock`: runs upstream's own tests on the official jars and on the patched ones."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import FormatOption
from harness.cli.output import ConsoleProgress, Format, data, err, out, table
from harness.cli.system_packages import BUILD, install
from harness.common.errors import Exit, RackspanError, usage_error
from harness.common.paths import locked, project_root
from harness.distribution.build import build
from harness.distribution.locate import find
from harness.spec.rackspan_level import formatted_level
from harness.upstream_tests.classes import JarClasses, artifacts, matching, selection
from harness.upstream_tests.start_level import start_level_jar
from harness.upstream_tests.tables import COLUMNS, Row, Table
from harness.upstream_tests.variants import Variant
from harness.upstream_tests.verify import batches, verify

# Roles of locked artifacts beside the distribution's own jars.
_ROLES = ("test", "junit", "kerberos")


class Tier(StrEnum):
    """The extent of a verification: minutes, or hours."""

    QUICK = "quick"
    FULL = "full"


def verify_stock(
    classes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLASS",
            help="Test classes, as PartitionTest, or patterns of full names, as 'kafka.cluster.*'.",
            show_default="those of the tier",
        ),
    ] = None,
    tier: Annotated[
        Tier,
        typer.Option(
            metavar="quick|full",
            help="How many classes run: quick takes minutes, full takes hours and continues where it was interrupted.",
        ),
    ] = Tier.QUICK,
    patched: Annotated[str, typer.Option(metavar="rackspan|FOLDER", help="The patched distribution.")] = "rackspan",
    stock: Annotated[str, typer.Option(metavar="stock|FOLDER", help="The distribution to compare it with.")] = "stock",
    level: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="LEVEL",
            help="Level of rackspan.version that clusters of the tests start with on the patched jars.",
            show_default="that of new clusters",
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run also classes whose results on these jars are stored.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Folder for upstream.md, upstream.json and junit.xml.",
            show_default="that of --store",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of stored results; one verification at a time uses it.",
            show_default="build/upstream",
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(min=1, metavar="COUNT", help="Batches of classes at a time, each with a JVM for each variant."),
    ] = 1,
    carry: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="An earlier upstream.json; classes that passed on these jars in it are not run again.",
            show_default="no file",
        ),
    ] = None,
    form: FormatOption = Format.TABLE,
) -> None:
    """Run upstream's compiled tests on stock and on patched jars; a test that only stock passes is an error."""
    progress = ConsoleProgress()
    install(BUILD, progress)
    build(progress)
    store = (store or project_root() / "build" / "upstream").absolute()
    ours = find(patched)
    usual = formatted_level({}, ours.patches)
    level = usual if level is None else level
    if level > usual or (level < usual and patched != "rackspan"):
        raise usage_error(
            f"level {level} of rackspan.version not found",
            observed=f"{patched} has levels 0 to {usual}",
            do="choose one of them, with --patched rackspan",
        )
    chosen = selection(level)
    tests = artifacts(*_ROLES)
    jars = JarClasses(a.file for a in tests if a.name.startswith("kafka"))
    skipped = {n: why for n in jars.tests if (why := chosen.reason_to_skip(n))}
    names = [n for n in jars.tests if n not in skipped]
    if classes:
        names = matching(names, classes)
        if not names:
            raise usage_error(
                "test class not found",
                observed=f"nothing matches {' '.join(classes)} among {len(jars.tests)} classes",
                do="name a class, as PartitionTest, or a pattern as 'kafka.cluster.*'",
            )
    elif tier is Tier.QUICK:
        names = matching(names, chosen.quick)
    front = None
    if level != usual:
        front = start_level_jar(level, ours.home / "libs", store / f"start-level-{level}.jar")
    left, right = Variant("stock", find(stock), tests, store), Variant("patched", ours, tests, store, front)
    absent = {} if classes or tier is Tier.QUICK else skipped
    result = Table(jars={"stock": left.digest, "patched": right.digest}, classes=[], skipped=absent)
    if carry is not None:
        result.classes = Table.read(carry).carried(result.jars, names)
        progress.note(f"{len(result.classes)} of {len(names)} classes are known from {carry}")
    known = {row.name for row in result.classes}
    with locked(store / "lock", busy="upstream's tests run already"):
        if fresh:
            for variant in (left, right):
                variant.forget(names)
        wanted = batches([n for n in names if n not in known], jars, chosen)
        for comparisons in verify(left, right, wanted, chosen, progress, jobs):
            # Without any test it is a base of other classes.
            found = [Row.of(c) for c in comparisons if c.stock.tests or c.patched.tests or c.failure]
            result.classes = sorted([*result.classes, *found], key=lambda r: r.name)
            result.write(to or store)  # after each batch: it may be interrupted
            for line in [line for row in found for line in (*row.errors, row.failure) if line]:
                err.print(f"  {line}", markup=False)
    if not result.classes:
        raise RackspanError(
            "no tests found", observed=f"{', '.join(names[:5])} have none", do="name classes that have tests"
        )
    result.write(to or store)
    if form is Format.TABLE:
        out.print(table(COLUMNS, [row.cells() for row in result.classes]))
        out.print(result.summary(), markup=False)
    else:
        data(result.data(), form)
    if any(row.errors for row in result.classes):
        raise typer.Exit(Exit.FAILED)
    if any(row.failure for row in result.classes):
        raise typer.Exit(Exit.TIMEOUT)
