"""The models of kafka-patch/models: what must hold holds, and what a rule prevents happens without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kpatch import cli, models, paths
from kpatch.errors import KpatchError
from kpatch.models import Check, Result

CHECKS = {check.name: check for check in models.load()}
QUICK = [check.name for check in CHECKS.values() if not check.full]
LONG = [check.name for check in CHECKS.values() if check.full]
CHEAP = CHECKS["without a new epoch"]


@pytest.mark.parametrize("name", QUICK)
def test_the_checker_finds_what_the_table_says(name: str, tmp_path: Path) -> None:
    models.verify(CHECKS[name], models.run(CHECKS[name], tmp_path))


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("name", LONG)
def test_the_checker_finds_what_the_table_says_of_larger_bounds(name: str, tmp_path: Path) -> None:
    models.verify(CHECKS[name], models.run(CHECKS[name], tmp_path))


def test_each_rule_is_knocked_out_alone_by_a_quick_check_that_names_what_fails() -> None:
    knocked = [CHECKS[name].knocked for name in QUICK if CHECKS[name].violates]
    assert all(len(rules) == 1 for rules in knocked)
    assert {rules[0] for rules in knocked} == models.rules()
    assert len(models.rules()) >= 20


def test_what_must_hold_is_checked_with_all_rules_in_force_and_a_floor_of_states() -> None:
    sound = [check for check in CHECKS.values() if not check.violates]
    assert all(check.states >= 100 and not check.knocked for check in sound)
    failing = {check.violates for check in CHECKS.values() if check.violates}
    assert failing == {name for check in sound for name in (*check.holds, *check.live)}


def test_a_rule_that_is_in_force_after_all_fails_its_check(tmp_path: Path) -> None:
    check = replace(CHEAP, knocked=())
    with pytest.raises(KpatchError, match="nothing is violated, OneLeader should be"):
        models.verify(check, models.run(check, tmp_path))


def test_an_error_in_a_module_is_an_error_with_the_text_of_the_checker(tmp_path: Path) -> None:
    with pytest.raises(KpatchError, match=r"TLC did not complete[\s\S]*NoSuchInvariant[\s\S]*See .*tlc\.log"):
        models.run(replace(CHEAP, holds=("NoSuchInvariant",)), tmp_path)


SOUND = """Model checking completed. No error has been found.
13058 states generated, 2720 distinct states found, 0 states left on queue.
The depth of the complete state graph search is 14.
"""
VIOLATED = """Error: Invariant NoLoss is violated.
Error: The behavior up to this point is:
State 1: <Initial predicate>
State 2: <Move line 1, col 5 to line 9, col 39 of module Controller>
7 states generated, 5 distinct states found, 2 states left on queue.
"""
LOG = Path("tlc.log")


def test_the_output_of_the_checker_is_read() -> None:
    assert models.parse(CHEAP, SOUND, LOG) == Result(2720, 14)
    assert models.parse(CHEAP, VIOLATED, LOG) == Result(5, 2, "NoLoss", ("Initial", "Move"))
    live = replace(CHEAP, live=("WritableAgain",))
    text = VIOLATED.replace("Invariant NoLoss is violated", "Temporal properties were violated")
    assert models.parse(live, text, LOG).violated == "WritableAgain"


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        ("", "no output"),
        ("***Parse Error***\nPrecedence conflict\n", "Precedence conflict"),
        ("Error: Evaluating invariant NoLoss failed.\nAttempted to apply\n", "Evaluating invariant NoLoss failed"),
        (SOUND.splitlines()[0], "No error has been found"),
        ("java.lang.OutOfMemoryError: Java heap space", "OutOfMemoryError"),
    ],
)
def test_an_output_without_a_result_is_refused(text: str, observed: str) -> None:
    with pytest.raises(KpatchError, match=rf"did not complete[\s\S]*{observed}"):
        models.parse(CHEAP, text, LOG)


def test_a_checker_that_is_not_over_in_time_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_LIMIT", 0.01)
    with pytest.raises(KpatchError, match=r"model without a new epoch: not over after 0 s"):
        models.run(CHEAP, tmp_path)


@pytest.mark.parametrize(
    ("check", "result", "reported"),
    [
        (replace(CHEAP, violates="", states=100), Result(99, 9), "99 distinct states, expected at least 100"),
        (
            replace(CHEAP, violates="", states=1),
            Result(99, 2, "NoLoss", ("Initial", "Move")),
            "NoLoss is violated after",
        ),
        (
            CHEAP,
            Result(99, 2, "NoLoss"),
            "NoLoss is violated, OneLeader should be. Without new epoch the model must fail",
        ),
        (CHEAP, Result(99, 2), "nothing is violated, OneLeader should be"),
    ],
)
def test_a_result_that_differs_from_the_table_is_refused(check: Check, result: Result, reported: str) -> None:
    with pytest.raises(KpatchError, match=reported):
        models.verify(check, result)


ENTRY = '[[check]]\nname = "a"\nabout = "b"\nrecords = 1\nepochs = 2\nholds = ["NoLoss"]\n'


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (ENTRY + "states = 5\nMovez = 1\n", "unknown keys: Movez"),
        (ENTRY.replace("epochs = 2\n", "") + "states = 5\n", "missing keys: epochs"),
        (ENTRY, "it must have either `violates` or `states`"),
        (ENTRY + 'states = 5\nviolates = "NoLoss"\n', "it must have either `violates` or `states`"),
        (ENTRY + 'knocked = ["electoin"]\nviolates = "NoLoss"\n', "no rule electoin"),
        ((ENTRY + "states = 5\n") * 2, "two checks have one name: a"),
    ],
)
def test_a_wrong_table_is_refused(text: str, reported: str, tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text(text)
    with pytest.raises(KpatchError, match=reported):
        models.load(file)


def test_checks_are_chosen_by_name_and_by_length() -> None:
    assert [check.name for check in models.select([CHEAP.name, "elections"], False)] == ["elections", CHEAP.name]
    assert [check.name for check in models.select([], False)] == QUICK
    assert models.select([], True) == list(CHECKS.values())
    with pytest.raises(KpatchError, match="no check levels: checks: elections, "):
        models.select(["levels"], False)


def test_the_command_names_each_check_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = {"elections": Result(10**9, 20), CHEAP.name: Result(7, 3)}
    monkeypatch.setattr(models, "run", lambda check, out: results[check.name])
    assert cli.main(["models", "--out", str(tmp_path), "elections"]) == 0
    assert "| elections | no error | 1,000,000,000 | 20 | 0 |" in capsys.readouterr().out
    assert cli.main(["models", "--out", str(tmp_path), "elections", CHEAP.name]) == 1
    assert "1 model check(s) failed" in capsys.readouterr().err


def test_each_check_has_a_row_in_the_document() -> None:
    page = (paths.PROJECT / "docs" / "reference" / "models.md").read_text(encoding="utf-8")
    assert [name for name in CHECKS if f"| {name} | " not in page] == []
