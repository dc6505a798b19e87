"""The stages of the project's tests: what each runs, by default and with --full."""

from __future__ import annotations

import difflib
import importlib.util
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from harness.cli.second_attempts import OPTIONS
from harness.cli.test_stages import Stage
from harness.common.errors import usage_error
from harness.common.paths import project_root
from harness.distribution.build import gradle_command
from harness.ducktape_support.suites import chosen_tests
from harness.network.netns_support import attempt

# The six tests of the proposal's plan, which `rackspan run` runs.
PLAN = "system_tests/suites/plan.yml"
SYSTEM_TESTS = "system tests"  # those that a user names
ACKS_TESTS = "acks system tests"
RACK_TESTS = "rack system tests"
# Two sessions of about the same length: one computes while the other waits. The others are in that of acks.
RACK_FOLDERS = ("proposals", "rack_outage", "upgrade")
# Files of system tests of which only --full runs all, and the tests that the default runs of each: of a feature it has
# the shortest test that fails without it.
LONG_TESTS: dict[str, tuple[str, ...]] = {
    "system_tests/acks/compatibility_test.py": ("Compatibility.test_refused_by_brokers_that_do_not_know_it",),
    "system_tests/acks/electable_set_lost_test.py": (),  # ElectableUncleanElectionsTest, of JUnit
    "system_tests/acks/lagging_follower_elected_test.py": (),  # planned_move_test
    "system_tests/frameworks/exactly_once_test.py": (),  # acks/exactly_once_test
    "system_tests/frameworks/spark_test.py": (),  # rack_down_test, with other clients
    "system_tests/monitoring/alerts_test.py": (),  # harness/tests/test_alerts.py
    "system_tests/proposals/kip_427/worked_examples_test.py": (),  # rack_down_test, predictions_test
    "system_tests/proposals/kip_637/avoided_partitions_test.py": (),  # ReadyPartitionsClusterTest, of JUnit
    "system_tests/rack_outage/controller_lost_test.py": (),  # acks/silent_controller_test
    "system_tests/rack_outage/drawn_predictions_test.py": (),  # predictions_test
    "system_tests/rack_outage/moved_racks_test.py": (
        "MovedRacks.test_a_wrong_label_is_corrected_without_a_lost_write",
    ),
    "system_tests/rack_outage/two_racks_lost_test.py": (),  # acks/rack_lost_test
    "system_tests/rack_outage/uneven_racks_test.py": (),  # acks/min_racks_test
    "system_tests/rack_outage/waiting_test.py": (),  # markers_test
    "system_tests/sanity/harness_test.py": ("Harness.test_a_node_that_fails_is_named",),
    "system_tests/sanity/networks_test.py": (),  # harness/tests/test_netns_cluster.py
    "system_tests/security/secured_test.py": (),  # harness/tests/tools/test_every_script.py
    "system_tests/third_party_clients/duplicates_test.py": (),  # acks/exactly_once_test
    "system_tests/third_party_clients/mapping_test.py": (),  # planned_move_test
    "system_tests/third_party_clients/matrix_test.py": (),  # planned_move_test, with all clients
    "system_tests/third_party_clients/planned_move_test.py": ("ClientsMoved.test_nothing_is_lost_at_level_2",),
    "system_tests/upgrade/formatted_test.py": (),  # level_test
    "system_tests/upgrade/rolling_test.py": (),  # level_test
}
# All of the main job's comparison runs, and claims nothing.
SHORT = ("--rounds", "2", "--block", "2", "--warmup", "2", "--jvm", "quick")
CAMPAIGN = 3 * 3600.0  # seconds that a long stage may take on a busy machine
CLEAN_ROOT = "package in a clean root"
COMPILED = "tool chain and reproducible build"
EMPTY_MACHINE = "harness.tests.empty_machine"
KAFKA = ("kafka-patch", "gradle", "build.gradle")
HARNESS = ("harness", "campaigns", "kafka-patch", "Dockerfile", "compose.yaml")
CODE = ("harness", "system_tests", "spark_analysis", "kafka-patch/kpatch")
_COMMAND = str(project_root() / "rackspan")


@dataclass(frozen=True)
class ListedStage:
    """A stage before it is made: the folders and files that it depends on, its command once everything is installed,
    and what of it only `--full` runs: "" for nothing.
    """

    name: str
    covers: tuple[str, ...]
    command: Callable[[], Sequence[str]]
    results: Path | None = None
    limit: float = Stage.limit
    only_full: str = ""
    default: bool = True

    def stage(self) -> Stage:
        """The stage, to be run."""
        return Stage(self.name, self.command(), self.results, self.limit)


def all_stages(folder: Path, full: bool) -> list[ListedStage]:
    """All stages: checks of the text, then about the longest first; results below `folder`."""
    reports = folder / "reports"
    made = [
        *_checks_of_text(),
        _system_tests(ACKS_TESTS, folder / "acks", full),
        _system_tests(RACK_TESTS, folder / "racks", full),
        _with_variants("analysis", ("spark_analysis",), reports, full, "", "spark_analysis/tests"),
        _with_variants("harness clusters", HARNESS, reports, full, "cluster and not documents", "harness/tests"),
        _with_variants(
            "harness",
            HARNESS,
            reports,
            full,
            "not cluster and not documents and not slow",
            "harness/tests",
            "system_tests/tests",
        ),
        _rackspan("main job", ("harness", "spark_analysis"), folder / "main", "run", *SHORT, "--results"),
        ListedStage(
            "soak",
            ("harness", "spark_analysis"),
            lambda: _soak(reports / "soak", full),
            only_full="24 of 30 cycles",
        ),
        replace(
            _pytest(
                "documents",
                ("README.md", "docs", "harness", "kafka-patch"),
                reports,
                "harness/tests",
                "-m",
                "documents" if full else "documents and not slow",
            ),
            only_full="heavy commands, long documents",
        ),
        _rackspan("upstream tests", KAFKA, reports / "upstream", "verify-stock", "--out"),
        ListedStage(
            "JUnit tests of the patches",
            KAFKA,
            lambda: gradle_command(["testPatch"]),
            project_root() / "build/junit/reports",
        ),
        _pytest("patch tool", KAFKA, reports, "kafka-patch/kpatch/tests", "-m", "not slow"),
    ]
    compiled = _pytest(COMPILED, KAFKA, reports, "kafka-patch/kpatch/tests", "-m", "slow")
    bases = _rackspan("other bases", (*KAFKA, "harness"), folder / "bases" / "system", "verify-base", "--results")
    clean = _pytest(CLEAN_ROOT, (*KAFKA, "harness"), reports, "harness/tests", "-m", "slow and not documents")
    long_only = [compiled, bases, clean]
    if importlib.util.find_spec(EMPTY_MACHINE):
        place = reports / "empty-machine"
        command = (sys.executable, "-m", EMPTY_MACHINE, "--results", str(place))
        long_only.append(
            ListedStage("empty machine", ("rackspan", "requirements.lock"), lambda: command, place, 2 * CAMPAIGN)
        )
    return [
        *(replace(item, limit=max(item.limit, CAMPAIGN)) if full and item.only_full else item for item in made),
        *(replace(item, limit=max(item.limit, CAMPAIGN), only_full="all", default=False) for item in long_only),
    ]


def select(listed: Sequence[ListedStage], names: Collection[str], full: bool) -> list[ListedStage]:
    """The named stages; without names those of the default, or with `full` all. Raises RackspanError (exit code 2)."""
    known = [item.name for item in listed]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, cutoff=0.3)
            raise usage_error(
                f"stage {name!r} not found",
                observed=f"did you mean {near[0]!r}?" if near else f"stages: {', '.join(known)}",
                do="name one of them; `rackspan test --list` lists them",
            )
    return [item for item in listed if (item.name in names if names else item.default or full)]


def skipped_without_full(listed: Sequence[ListedStage]) -> str:
    """The stages that only --full runs, as one line."""
    parts = (f"{item.name} ({item.only_full})" if item.default else item.name for item in listed if item.only_full)
    return f"only `rackspan test --full` runs: {', '.join(parts)}"


def _checks_of_text() -> list[ListedStage]:
    commands = {
        "format": ("ruff", "format", "--check", "."),
        "lint": ("ruff", "check", "."),
        "types": ("mypy",),
    }
    lint = shlex.quote(str(Path(sys.executable).with_name("lint-imports")))  # each reads the contracts of its folder
    both = f"{lint} && cd kafka-patch && {lint}"
    imports = ListedStage("imports", CODE, lambda: ("sh", "-c", both), limit=600)
    return [*(ListedStage(name, CODE, partial(_module, *c), limit=600) for name, c in commands.items()), imports]


def _module(*arguments: str) -> Sequence[str]:
    return (sys.executable, "-m", *arguments)


def _pytest(name: str, covers: tuple[str, ...], reports: Path, *arguments: str) -> ListedStage:
    place = reports / name.replace(" ", "-")
    command = _module("pytest", "-q", "--durations=10", *OPTIONS, *arguments, f"--junitxml={place / 'junit.xml'}")
    return ListedStage(name, covers, lambda: command, place)


def _with_variants(
    name: str, covers: tuple[str, ...], reports: Path, full: bool, expression: str, *arguments: str
) -> ListedStage:
    """Tests whose marks fulfil an expression; those with the mark `variant` with --full only."""
    marks = " and ".join(filter(None, (expression, "" if full else "not variant")))
    return replace(_pytest(name, covers, reports, *arguments, "-m", marks), only_full="variants")


def _rackspan(name: str, covers: tuple[str, ...], results: Path, *arguments: str) -> ListedStage:
    """A verb whose last option names its results folder."""
    return ListedStage(name, covers, lambda: (_COMMAND, *arguments, str(results)), results)


def _soak(out: Path, full: bool) -> Sequence[str]:
    """Cycles over all kinds of faults: many with one or two, or few with several each."""
    backend = "local" if attempt().skip_reason else "netns"
    # docs/results/durability.md runs the first cycle of this seed.
    short = ("--cycles", "6", "--faults-per-cycle", "5", "--rate", "20")
    cycles = ("--first", "2", "--cycles", "30") if full else short
    return (_COMMAND, "soak", "--seed", "1", *cycles, "--backend", backend, "--out", str(out))


def _system_tests(name: str, folder: Path, full: bool) -> ListedStage:
    files = beside_the_plan(name)
    made = system_tests(name, files if full else [test for file in files for test in _by_default(file)], folder)
    long = f"all of {sum(file in LONG_TESTS for file in files)} files of {len(files)}"
    return ListedStage(made.name, ("system_tests", *HARNESS), lambda: made.command, made.results, made.limit, long)


def _by_default(file: str) -> list[str]:
    """The file, or the tests of it that the default runs."""
    return [f"{file}::{test}" for test in LONG_TESTS[file]] if file in LONG_TESTS else [file]


def beside_the_plan(name: str) -> list[str]:
    """Files of system tests that the main job does not run and the stage of that name does."""
    root = project_root()
    planned = chosen_tests([PLAN])
    files = sorted(p.relative_to(root) for p in (root / "system_tests").rglob("*_test.py") if p not in planned)
    return [str(file) for file in files if (file.parts[1] in RACK_FOLDERS) == (name == RACK_TESTS)]


def system_tests(name: str, suites: list[str], folder: Path) -> Stage:
    """Suites or paths of ducktape tests as a stage. A test that fails is tried once more: the machine may be shared."""
    place = folder / "system"
    session = [sys.executable, "-m", "harness.ducktape_support.session", "--results", str(place), "--attempts", "2"]
    return Stage(name, [*session, *suites], place, limit=4800)
