"""`rackspan test`: everything that must hold, chosen stages of it, or some system tests."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import stage_list, test_stages, test_times
from harness.cli.output import ConsoleProgress, err, out, table
from harness.cli.second_attempts import flaky
from harness.cli.stage_list import ACKS_TESTS, CLEAN_ROOT, COMPILED, SYSTEM_TESTS, system_tests
from harness.cli.system_packages import (
    BACKENDS,
    BROWSER,
    BUILD,
    CLIENTS,
    DEBIAN_CHECKS,
    DEBIAN_TESTS,
    NETWORKS,
    PROMETHEUS,
    install,
)
from harness.common.errors import Exit, usage_error
from harness.common.paths import project_root
from harness.distribution.build import archive_spark_classes, build, fetch_object_store, gradle
from harness.ducktape_support.session import failures, read_report
from harness.ducktape_support.suites import CLIENT_TESTS, chosen_tests, include
from harness.third_party_clients.prepare import prepare


def test(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUITE", help="Suites or paths of system tests.", show_default="all tests of the project"
        ),
    ] = None,
    stage: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Run only this stage; can be repeated.", show_default="all stages"),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Run the long stages too, and the long form of the others.")
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="List the stages and run nothing.")] = False,
    jobs: Annotated[
        int,
        typer.Option(min=1, metavar="COUNT", help="Stages that run at a time, however busy the machine."),
    ] = 2,
    extra: Annotated[
        int,
        typer.Option(min=0, metavar="COUNT", help="Stages that run beside these while the processors are idle."),
    ] = 2,
) -> None:
    """Run all tests of the project, some stages of them, or only some system tests; failures are listed first."""
    folder = results_folder()
    if suites and (stage or full or show):
        raise usage_error(
            "system tests and stages cannot be chosen together",
            observed=f"system tests: {' '.join(suites)}",
            do="name either system tests or stages",
        )
    named = chosen_tests(suites or [])
    listed = stage_list.all_stages(folder, full)
    if show:
        _list(listed)
        return
    chosen = [] if suites else stage_list.select(listed, stage or [], full)
    progress = ConsoleProgress()
    begin = time.monotonic()
    _prepare([item.name for item in chosen], named, full=full, checks=not suites and not stage, progress=progress)
    ready = time.monotonic()
    wanted = [system_tests(SYSTEM_TESTS, suites, folder)] if suites else [item.stage() for item in chosen]
    results = test_stages.run(wanted, folder / "logs", progress, jobs, extra)
    times = test_times.write(folder, results, ready - begin, time.monotonic() - ready)
    report_failures(folder)
    if not suites and not stage and not full:
        err.print(stage_list.skipped_without_full(listed), markup=False)
    err.print(f"times of stages and of the slowest tests: {times}", markup=False)
    counts = test_stages.total(results)
    out.print(str(counts))
    if counts.failed:
        raise typer.Exit(Exit.FAILED)


def _prepare(stages: list[str], tests: list[Path], *, full: bool, checks: bool, progress: ConsoleProgress) -> None:
    """Installs and brings up to date what the tests run on; with `checks` also looks at patches and jars."""
    clients = ACKS_TESTS in stages or include(tests, *CLIENT_TESTS)
    needs = [*BUILD, NETWORKS, *(CLIENTS if clients else ())]
    needs += [*(BACKENDS if "harness" in stages else ()), *((BROWSER,) if "analysis" in stages else ())]
    watched = {"harness", ACKS_TESTS} & set(stages) or include(tests, "monitoring")
    packaged = {"patch tool", COMPILED, CLEAN_ROOT} & set(stages)
    needs += [*((DEBIAN_TESTS,) if packaged else ()), *(DEBIAN_CHECKS if packaged - {"patch tool"} else ())]
    install([*needs, *((PROMETHEUS,) if watched else ())], progress)
    build(progress)
    if clients:
        prepare(progress)
    if full and "analysis" in stages:
        fetch_object_store(progress)
    if checks:
        archive_spark_classes(progress)
        gradle(["checkPatches"], "patches: strict apply, headers, no context, round trip", progress)
        gradle(["checkChanges"], "jars: official bytes but for the classes that are listed", progress)


def _list(listed: list[stage_list.ListedStage]) -> None:
    rows = [
        (item.name, "yes" if item.default else "no", item.only_full if item.default else "", " ".join(item.covers))
        for item in listed
    ]
    out.print(table(("STAGE", "BY DEFAULT", "ONLY WITH --full", "DEPENDS ON"), rows))


def results_folder() -> Path:
    """A new folder's path for logs and reports of now."""
    return project_root() / "results" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"


def report_failures(folder: Path) -> None:
    """Prints the system tests below a results folder that failed, and each test that passed at the second attempt."""
    for report in sorted(folder.glob("**/system/*/*/report.json")):
        if "latest" not in report.parts:
            for line in failures(read_report(report)):
                err.print(line, markup=False)
    for log in sorted(folder.glob("logs/*.log")):
        for name in flaky(log):
            err.print(f"FLAKY {name}\n  passed at the second attempt; log: {log}", markup=False)
