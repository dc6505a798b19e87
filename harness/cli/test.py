"""`rackspan test`: everything that must hold, or one suite of system tests."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
import yaml

from harness.cli import test_stages
from harness.cli.output import ConsoleProgress, err, out
from harness.cli.system_packages import BACKENDS, BROWSER, BUILD, CLIENTS, NETWORKS, Need, install
from harness.cli.test_stages import Stage
from harness.common.errors import Exit
from harness.common.paths import project_root
from harness.distribution.build import build, gradle, gradle_command
from harness.ducktape_support.session import failures, path_in_project, read_report
from harness.network.netns_support import attempt
from harness.third_party_clients.prepare import prepare

# The six tests of the proposal's plan, which `rackspan run` runs.
PLAN = "system_tests/suites/plan.yml"
SHORT = ("--rounds", "2", "--block", "5", "--warmup", "10")  # all of its comparison runs, and claims nothing


def test(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUITE", help="Suites or paths of system tests.", show_default="all tests of the project"
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, metavar="COUNT", help="Stages that run at a time; most of them wait for brokers.")
    ] = 2,
) -> None:
    """Run all tests of the project, or only some system tests; failures are listed first."""
    for suite in suites or []:
        path_in_project(suite)
    progress = ConsoleProgress()
    install([*BUILD, NETWORKS, *_for(suites or [])], progress)
    build(progress)
    if not suites or any("clients" in name for name in suites):
        prepare(progress)
    folder = results_folder()
    if suites:
        wanted = [system_tests("system tests", suites, folder)]
    else:
        gradle(["checkPatches"], "patches: strict apply, headers, no context, round trip", progress)
        gradle(["checkChanges"], "jars: official bytes but for the classes that are listed", progress)
        wanted = everything(folder)
    tally = test_stages.run(wanted, folder / "logs", progress, jobs)
    report_failures(folder)
    out.print(str(tally))
    if tally.failed:
        raise typer.Exit(Exit.FAILED)


def _for(suites: list[str]) -> list[Need]:
    """What some suites, or without any all tests, run where it is there."""
    clients = CLIENTS if not suites or any("clients" in name for name in suites) else ()
    return [*clients, *(() if suites else (*BACKENDS, BROWSER))]


def everything(folder: Path) -> list[Stage]:
    """All stages of the project's tests, checks of the text first, then the longest first; results below `folder`."""
    python, main = sys.executable, folder / "main"
    pytest = [python, "-m", "pytest", "-q", "--durations=10"]
    reports = folder / "reports"
    command, upstream, bases = str(project_root() / "rackspan"), reports / "upstream", folder / "bases" / "system"
    breakable = "local" if attempt().skip_reason else "netns"
    # docs/results/durability.md runs the first cycle of this seed.
    soak = [command, "soak", "--seed", "1", "--first", "2", "--cycles", "30", "--backend", breakable]

    def tests(name: str, *arguments: str) -> Stage:
        place = reports / name.replace(" ", "-")
        return Stage(name, [*pytest, *arguments, f"--junitxml={place / 'junit.xml'}"], place)

    return [
        Stage("format", [python, "-m", "ruff", "format", "--check", "."]),
        Stage("lint", [python, "-m", "ruff", "check", "."]),
        Stage("types", [python, "-m", "mypy"]),
        system_tests("system tests", beside_the_plan(), folder),
        tests("documents", "harness/tests", "-m", "documents"),
        tests("harness", "harness/tests", "-m", "not documents"),
        Stage("soak", [*soak, "--out", str(reports / "soak")]),
        tests("analysis", "spark_analysis/tests"),
        Stage("main job", [command, "run", "--results", str(main), *SHORT], main),
        tests("tool chain and reproducible build", "kafka-patch/kpatch/tests", "-m", "slow"),
        Stage("other bases", [command, "verify-base", "--results", str(bases)], bases),
        Stage("upstream tests", [command, "verify-stock", "--out", str(upstream)], upstream),
        Stage("JUnit tests of the patches", gradle_command(["testPatch"]), project_root() / "build/junit/reports"),
        tests("patch tool", "kafka-patch/kpatch/tests", "-m", "not slow"),
    ]


def beside_the_plan() -> list[str]:
    """Files of system tests that the main job does not run."""
    root = project_root()
    suites = yaml.safe_load((root / PLAN).read_text(encoding="utf-8")).values()
    planned = {((root / PLAN).parent / path).resolve() for paths in suites for path in paths}
    return [str(p.relative_to(root)) for p in sorted((root / "system_tests").rglob("*_test.py")) if p not in planned]


def results_folder() -> Path:
    """A new folder's path for logs and reports of now."""
    return project_root() / "results" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"


def system_tests(name: str, suites: list[str], folder: Path) -> Stage:
    """Suites or paths of ducktape tests as a stage. A test that fails is tried once more: the machine may be shared."""
    place = folder / "system"
    session = [sys.executable, "-m", "harness.ducktape_support.session", "--results", str(place), "--attempts", "2"]
    return Stage(name, [*session, *suites], place)


def report_failures(folder: Path) -> None:
    """Prints the system tests below a results folder that failed, or passed at the second attempt only."""
    for report in sorted(folder.glob("**/system/*/*/report.json")):
        if "latest" not in report.parts:
            for line in failures(read_report(report)):
                err.print(line, markup=False)
