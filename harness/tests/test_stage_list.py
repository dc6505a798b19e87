"""The list of stages: what the default runs, what only --full runs, and how stages are chosen."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import stage_list
from harness.cli.app import app
from harness.cli.stage_list import (
    ACKS_TESTS,
    LONG_TESTS,
    PLAN,
    RACK_TESTS,
    ListedStage,
    all_stages,
    beside_the_plan,
    select,
    skipped_without_full,
)
from harness.cli.test_stages import Stage
from harness.common.errors import RackspanError
from harness.common.paths import project_root

LONG = {"tool chain and reproducible build", "other bases", "package in a clean root"}


def names(full: bool, *chosen: str) -> list[str]:
    return [item.name for item in select(all_stages(Path("results"), full), chosen, full)]


def test_full_runs_every_stage_and_the_default_all_but_the_long_ones() -> None:
    assert set(names(True)) - set(names(False)) == LONG | ({"empty machine"} & set(names(True)))
    assert len(names(True)) == len(set(names(True)))


def test_a_long_stage_can_be_chosen_by_name() -> None:
    assert names(False, "lint", "other bases") == ["lint", "other bases"]


def test_an_unknown_stage_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(RackspanError) as e:
        names(False, "rack system test")
    assert e.value.what == "stage 'rack system test' not found"
    assert e.value.observed == "did you mean 'rack system tests'?"
    assert "rackspan test --list" in e.value.do


def test_the_default_says_what_it_skips() -> None:
    line = skipped_without_full(all_stages(Path("results"), False))
    assert line.startswith("only `rackspan test --full` runs: ")
    for part in ("soak (24 of 30 cycles)", "documents (heavy commands, long documents)", *LONG):
        assert part in line


def test_the_soak_has_six_cycles_by_default_and_thirty_with_full() -> None:
    for full, expected in ((False, "--cycles 6 --faults-per-cycle 5"), (True, "--first 2 --cycles 30")):
        soak = next(item.stage() for item in all_stages(Path("results"), full) if item.name == "soak")
        assert expected in " ".join(soak.command)


def test_what_only_full_runs_may_take_three_hours() -> None:
    default, long = ({item.name: item for item in all_stages(Path("results"), full)} for full in (False, True))
    more = {name for name, item in default.items() if item.default and item.only_full}
    assert {"acks system tests", "analysis", "soak"} <= more
    assert all(default[name].limit < 2 * 3600 <= long[name].limit for name in more)
    assert all(default[name].limit == item.limit for name, item in long.items() if name not in more)


def test_every_stage_has_a_limit_and_depends_on_paths_that_exist() -> None:
    for item in all_stages(Path("results"), True):
        assert 0 < Stage.teardown < item.limit < 7 * 3600
        assert item.covers and all((project_root() / path).exists() for path in item.covers), item.name


def test_every_folder_of_tests_is_in_a_stage() -> None:
    commands = [word for item in all_stages(Path("results"), True) for word in item.stage().command]
    for folder in {p.parent for p in project_root().glob("[!.b]*/**/tests/test_*.py") if "work" not in p.parts}:
        assert str(folder.relative_to(project_root())) in commands


def test_every_system_test_is_run_once_by_the_main_job_or_beside_it() -> None:
    root = project_root()
    beside = [path for name in (ACKS_TESTS, RACK_TESTS) for path in beside_the_plan(name)]
    planned = [line.strip("- \n") for line in (root / PLAN).open() if line.startswith("  - ")]
    together = [(root / path).resolve() for path in beside]
    together += [(root / "system_tests/suites" / path).resolve() for path in planned]
    assert len(planned) == 6
    assert sorted(together) == sorted((root / "system_tests").rglob("*_test.py"))


def test_the_default_leaves_second_variants_to_full() -> None:
    chosen = {
        full: {
            word for item in all_stages(Path("results"), full) for word in item.stage().command if "_test.py" in word
        }
        for full in (False, True)
    }
    assert {word.partition("::")[0] for word in chosen[True] - chosen[False]} == set(LONG_TESTS)
    for named in chosen[False] - chosen[True]:
        file, _, test = named.partition("::")
        assert f"def {test.partition('.')[2]}(self)" in (project_root() / file).read_text(), named
    line = skipped_without_full(all_stages(Path("x"), False))
    for name in (ACKS_TESTS, RACK_TESTS):
        files = beside_the_plan(name)
        assert f"{name} (all of {len(LONG_TESTS.keys() & set(files))} files of {len(files)})" in line


def test_variants_are_selected_with_full_only() -> None:
    for full in (False, True):
        commands = {item.name: " ".join(item.stage().command) for item in all_stages(Path("results"), full)}
        for stage in ("analysis", "harness clusters", "harness"):
            assert ("not variant" in commands[stage]) != full
        assert "-m cluster and not documents" in commands["harness clusters"]
    assert "harness (variants)" in skipped_without_full(all_stages(Path("results"), False))


def test_the_list_names_each_stage_and_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.cli.test.build", lambda progress: pytest.fail("built"))
    done = CliRunner().invoke(app, ["test", "--list"])
    assert done.exit_code == 0
    for item in all_stages(Path("results"), False):
        assert item.name in done.output


def test_stages_and_system_tests_are_not_chosen_together() -> None:
    done = CliRunner().invoke(app, ["test", "--stage", "lint", "system_tests/suites/smoke.yml"])
    assert isinstance(done.exception, RackspanError)
    assert done.exception.what == "system tests and stages cannot be chosen together"


def test_the_stage_of_the_empty_machine_is_there_with_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_list, "EMPTY_MACHINE", "harness.tests.test_stage_list")
    assert "empty machine" in names(True) and "empty machine" not in names(False)
    monkeypatch.setattr(stage_list, "EMPTY_MACHINE", "harness.tests.no_such_program")
    assert "empty machine" not in names(True)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Stages of one line each, nothing to install or to build, and a results folder of the test's own."""
    done: list[str] = []

    def listed(folder: Path, full: bool) -> list[ListedStage]:
        good = ListedStage("good", ("harness",), lambda: [sys.executable, "-c", "pass"], only_full="half")
        bad = ListedStage("bad", ("harness",), lambda: [sys.executable, "-c", "raise SystemExit(1)"], default=False)
        return [good, replace(bad, only_full="all")]

    monkeypatch.setattr(stage_list, "all_stages", listed)
    monkeypatch.setattr("harness.cli.test.results_folder", lambda: tmp_path)
    monkeypatch.setattr("harness.cli.test.install", lambda needs, progress: done.append("install"))
    monkeypatch.setattr("harness.cli.test.build", lambda progress: done.append("build"))
    monkeypatch.setattr("harness.cli.test.archive_spark_classes", lambda progress: done.append("archive"))
    monkeypatch.setattr("harness.cli.test.gradle", lambda tasks, label, progress: done.extend(tasks))
    return done


def test_the_default_runs_its_stages_and_writes_their_times(prepared: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["test"])
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed"
    assert "only `rackspan test --full` runs: good (half), bad" in done.stderr
    assert prepared == ["install", "build", "archive", "checkPatches", "checkChanges"]
    assert [s["stage"] for s in json.loads((tmp_path / "times.json").read_text())["stages"]] == ["good"]


def test_full_runs_all_and_a_failure_is_the_exit_code(prepared: list[str]) -> None:
    done = CliRunner().invoke(app, ["test", "--full"])
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (1, "1 passed, 1 failed")
    assert "only `rackspan test --full`" not in done.stderr


def test_a_chosen_stage_runs_alone_without_the_checks_of_patches(prepared: list[str]) -> None:
    done = CliRunner().invoke(app, ["test", "--stage", "bad"])
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed")
    assert prepared == ["install", "build"]


def test_a_mistyped_stage_installs_nothing(prepared: list[str]) -> None:
    done = CliRunner().invoke(app, ["test", "--stage", "goood"])
    assert isinstance(done.exception, RackspanError) and done.exception.observed == "did you mean 'good'?"
    assert prepared == []
