"""Gates: what a file may say, and what follows from a report."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from spark_analysis import cli, pipeline
from spark_analysis.errors import FAILED, OK, USAGE, AnalysisError
from spark_analysis.report import gate_file, gates

SHIPPED = Path(__file__).parents[2] / "docs" / "results" / "gates.yaml"


def ratio(estimate: float, low: float | None, high: float | None, verdict: str, **changes: Any) -> dict[str, Any]:
    row = {"role": "candidate", "part": "quiet", "per_thousand": 990, "rounds": 2 if low is None else 10}
    row |= {"not_shown": "", "noise": 1.0}
    return {**row, "estimate": estimate, "low": low, "high": high, "verdict": verdict, **changes}


def document(
    *ratios: dict[str, Any], lost: int = 0, acknowledged: int = 1100, state: str = "checked", planned: int = 2
) -> dict[str, Any]:
    goal = {"id": "P2", "what": "p50", "estimate": 0.2, "low": 0.1, "high": 0.3, "verdict": "meets the floor"}
    bench = {"ratios": list(ratios), "goals": [goal], "invalid": [{}], "blocks": [{}] * 12}
    bench["plan"] = {"planned": planned}
    kept = {"state": state, "totals": {"lost": lost, "acknowledged": acknowledged}, "without_acks": [], "phantoms": 0}
    kept["unchecked_topics"] = ["u"] if state == "checked in part" else []
    return {
        "skipped": [{"what": "x"}],
        "runs": [
            {"name": "bench-unequal-racks", "bench": bench, "outage": None},
            {"name": "outage", "bench": None, "outage": {"durability": kept}},
        ],
    }


def evaluated(report: dict[str, Any], **gate: Any) -> gates.GateResult:
    (outcome,) = gates.evaluate(gate_file.Gates.model_validate({"gates": [{"name": "g", **gate}]}), report)
    return outcome


@pytest.mark.parametrize(("at_most", "met"), [(0.168, True), (0.16, False)])
def test_a_bound_is_about_the_full_interval(at_most: float, met: bool) -> None:
    report = document(ratio(0.154, 0.14, 0.168, "improved"))
    found = evaluated(report, of="ratio", at_most=at_most)
    assert (found.met, found.known) == (met, True)
    assert (
        str(found)
        == f"{'✓' if met else '✗'} g (bench-unequal-racks): 0.154 (0.14 to 0.168), with the noise 0.14 to 0.168, "
        f"requested: at most {at_most:g}"
    )
    assert not evaluated(report, of="ratio", at_least=0.15).met and evaluated(report, of="ratio", at_least=0.14).met


def test_a_verdict_must_be_one_of_those_requested() -> None:
    report = document(ratio(1.3, 1.2, 1.4, "regressed"), ratio(0.9, 0.8, 0.95, "improved", per_thousand=999.9))
    found = evaluated(report, of="ratio", verdict=["improved"])
    assert not found.met and found.observed == "regressed, 1.3 (1.2 to 1.4), requested: improved"
    assert evaluated(report, of="ratio", quantile="p99.99", verdict=["improved"]).met
    assert not evaluated(report, of="ratio", quantile="p99.99", verdict=["improved"], at_most=0.9).met


def test_what_is_not_known_is_missed_unless_the_gate_says_otherwise() -> None:
    report = document(ratio(0.5, None, None, "not enough runs"), state="not checked")
    requested: list[dict[str, Any]] = [
        {"of": "ratio", "at_most": 9},
        {"of": "ratio", "verdict": ["improved"]},
        {"of": "ratio", "quantile": "p50", "at_most": 9},
        {"of": "ratio", "run": "nothing*", "at_most": 9},
        {"of": "lost", "at_most": 0},
        {"of": "goal", "goal": "P5"},
    ]
    for gate in requested:
        missed, met = evaluated(report, **gate), evaluated(report, **gate, unknown="met")
        assert (missed.met, missed.known, met.met) == (False, False, True)
    assert "not enough runs: 2 of the 6 rounds" in evaluated(report, of="ratio", at_most=9).observed
    assert "durability was not checked; what is not known is missed" in evaluated(report, of="lost", at_most=0).observed
    assert "no run of a benchmark named nothing*" in evaluated(report, of="ratio", run="nothing*", at_most=9).observed


def test_records_that_nobody_looked_for_are_not_known_and_lost_ones_are_missed_all_the_same() -> None:
    report = document()
    report["runs"][1]["outage"]["durability"]["without_acks"] = ["q"]
    found = evaluated(report, of="lost", at_most=0)
    assert (found.met, found.known) == (False, False)
    assert "not checked: producer q, which has no acknowledgements on file (of outage)" in found.observed
    lost = evaluated(document(lost=1, state="checked in part"), of="lost", at_most=0, unknown="met")
    assert (lost.met, lost.known) == (False, True), "one was lost, whatever else was not looked for"


@pytest.mark.parametrize("gate", [{"of": "ratio", "at_most": 1}, {"of": "goal", "goal": "P2"}])
def test_each_run_that_a_gate_names_must_have_the_value(gate: dict[str, Any]) -> None:
    report = document(ratio(0.5, 0.4, 0.6, "improved"))
    without = copy.deepcopy(report["runs"][0])
    without["bench"] |= {"ratios": [], "goals": []}
    report["runs"].append(without)

    def outcomes(**more: Any) -> list[tuple[bool, bool]]:
        file = gate_file.Gates.model_validate({"gates": [{"name": "g", **gate, **more}]})
        return [(found.met, found.known) for found in gates.evaluate(file, report)]

    assert outcomes(run="*unequal-racks") == [(True, True), (False, False)]
    assert outcomes(run="*unequal-racks", unknown="met") == [(True, True), (True, False)]
    assert outcomes() == [(True, True)]


def test_nothing_acknowledged_is_not_nothing_lost() -> None:
    report = document(acknowledged=0)
    missed, met = (evaluated(report, of="lost", at_most=0, unknown=unknown) for unknown in ("missed", "met"))
    assert (missed.met, missed.known, met.met) == (False, False, True)
    assert missed.observed == "no record was acknowledged; what is not known is missed"


def test_rounds_that_were_planned_and_lost_are_missed_whatever_the_gate_says() -> None:
    few = ratio(0.5, None, None, "not enough runs")
    for gate in ({"at_most": 9}, {"verdict": ["improved"]}):
        found = evaluated(document(few, planned=10), of="ratio", unknown="met", **gate)
        assert not found.met and found.observed.endswith("; 10 were planned")
        assert evaluated(document(few, planned=5), of="ratio", unknown="met", **gate).met


def test_a_bound_needs_a_control_and_the_interval_made_wider_by_its_noise() -> None:
    def met(noise: float | None, **gate: Any) -> gates.GateResult:
        return evaluated(
            document(ratio(1.0, 0.98, 1.02, "within noise", noise=noise)), of="ratio", unknown="met", **gate
        )

    assert met(1.01, at_most=1.05).met and not met(1.04, at_most=1.05).met
    assert met(1.01, at_least=0.95).met and not met(1.04, at_least=0.95).met
    none = met(None, at_most=9)
    assert not none.met and none.observed == "not shown: no control, 1 (0.98 to 1.02), requested: at most 9"
    assert "with the noise 0.942 to 1.06" in met(1.04, at_most=1.05).observed


def test_what_meets_the_goal_meets_a_gate_for_the_floor() -> None:
    report = document()
    report["runs"][0]["bench"]["goals"][0]["verdict"] = "meets the goal"
    assert evaluated(report, of="goal", goal="P2", verdict=["meets the floor"]).met


def test_gates_on_lost_records_goals_invalid_parts_and_skipped_folders() -> None:
    report = document(lost=1)
    assert (
        evaluated(report, of="lost", at_most=0).observed == "1 of 1,100 acknowledged records lost, requested: at most 0"
    )
    assert not evaluated(report, of="lost", at_most=0).met and evaluated(document(), of="lost", at_most=0).met
    assert (
        evaluated(report, of="goal", goal="P2").met
        and not evaluated(report, of="goal", goal="P2", verdict=["meets the goal"]).met
    )
    assert evaluated(report, of="invalid", at_most=1).met and not evaluated(report, of="invalid", at_most=0).met
    assert not evaluated(report, of="skipped", at_most=0).met


@pytest.mark.parametrize(
    ("gate", "text"),
    [
        ("of: ratio, at_mots: 1", "gates.0: no key 'at_mots'; did you mean 'at_most'?"),
        ("of: ratios, at_most: 1", "not 'ratios'"),
        ("of: ratio", "nothing is demanded: give at_most, at_least or verdict"),
        ("of: ratio, verdict: [faster]", "ratio has no verdict 'faster'; known: improved"),
        ("of: ratio, verdict: [improved, within noise]", "does not pass a gate, as more noise would; give at_most"),
        ("of: goal, goal: P2, verdict: [does not meet the floor]", "known: meets the goal, meets the floor"),
        ("of: goal", "a goal needs its id, as `goal: P2`"),
        ("of: ratio, quantile: 99, at_most: 1", "gates.0.quantile: "),
    ],
)
def test_a_bad_file_is_a_usage_error_that_names_the_key(tmp_path: Path, gate: str, text: str) -> None:
    path = tmp_path / "gates.yaml"
    path.write_text(f"gates:\n  - {{name: g, {gate}}}\n")
    with pytest.raises(AnalysisError) as caught:
        gate_file.load(path)
    assert caught.value.code == USAGE and text in caught.value.observed and str(path) in caught.value.what
    assert "spark_analysis/report/gate_file.py says what each one means" in caught.value.do


def test_the_file_that_is_shipped_can_be_met() -> None:
    report = document(ratio(0.2, 0.1, 0.3, "improved"), ratio(0.9, 0.8, 0.95, "improved", per_thousand=500))
    outcomes = gates.evaluate(gate_file.load(SHIPPED), {**report, "skipped": []})
    assert [(o.met, o.known) for o in outcomes] == [(True, True)] * 5, "a name in it may match no run"


FILES = [
    ("- one", "is no file of gates", "a list where keys and values are expected"),
    ("gates: [", "is not YAML", "while parsing"),
    (None, "cannot read the gates ", "No such file or directory"),
]


@pytest.mark.parametrize(("content", "what", "observed"), FILES)
def test_a_file_that_holds_no_gates_is_a_usage_error(
    tmp_path: Path, content: str | None, what: str, observed: str
) -> None:
    path = tmp_path / "gates.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(AnalysisError) as caught:
        gate_file.load(path)
    assert caught.value.code == USAGE and what in caught.value.what and observed in caught.value.observed


def test_report_prints_each_gate_and_fails_when_one_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page itself has tests of its own."""
    page = tmp_path / "report.html"
    (tmp_path / "report.json").write_text(json.dumps({**document(lost=1), "skipped": []}))
    monkeypatch.setattr(pipeline, "write_report", lambda *options: page)
    path = tmp_path / "gates.yaml"
    command = ["report", str(tmp_path), "--out", str(tmp_path), "--gate", str(path)]
    path.write_text("gates:\n- {name: kept, of: lost, at_most: 0}\n- {name: goal, of: goal, goal: P2}\n")
    assert cli.main(command) == FAILED
    printed = capsys.readouterr()
    lost, goal, last = printed.out.splitlines()
    assert lost == "✗ kept (outage): 1 of 1,100 acknowledged records lost, requested: at most 0"
    assert goal.startswith("✓ goal (bench-unequal-racks): ") and last == str(page)
    longer = "a gate that is missed for want of rounds needs a longer benchmark"
    assert printed.err == f"1 of 2 gates missed\n  observed: kept\n  do:       see {page}; {longer}\n"
    path.write_text("gates:\n- {name: goal, of: goal, goal: P2}\n")
    assert cli.main(command) == OK


def test_report_refuses_a_bad_file_of_gates_before_it_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pipeline, "write_report", lambda *options: pytest.fail("a report was made"))
    path = tmp_path / "gates.yaml"
    path.write_text("gates:\n- {name: kept, of: lost, at_mots: 0}\n")
    for command in (["report", str(tmp_path), "--out", str(tmp_path), "--gate"], ["gates"]):
        assert cli.main([*command, str(path)]) == USAGE
        assert "gates.0: no key 'at_mots'; did you mean 'at_most'?" in capsys.readouterr().err
    assert cli.main(["gates", str(SHIPPED)]) == OK
