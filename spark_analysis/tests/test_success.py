"""Refusals, silence and losses in a benchmark: none of them may pass for a fast answer."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_analysis.report import document, gates, render
from spark_analysis.report.benchmark import benchmark_charts
from spark_analysis.report.benchmark.rounds import Rounds, divided, ratios
from spark_analysis.report.files import finite, plain
from spark_analysis.report.gate_file import Gates
from spark_analysis.report.markdown import summary
from spark_analysis.statistics import counts, label_swap, stats
from spark_analysis.statistics.success import Success, not_comparable
from spark_analysis.statistics.verdict_words import NO_ANSWER
from spark_analysis.tests import plain_counts
from spark_analysis.tests.generated_bench import bench_run, measured
from spark_analysis.tests.test_bench_report import goal
from spark_analysis.tests.test_report import Text

KILL = {"how": "kill", "target": "rack:c", "seconds": 1.0, "recover": 0.0}
PAUSE = {"how": "pause", "target": "c1", "seconds": 1.0, "recover": 0.0}


def ratio(data: dict[str, Any], role: str, per_thousand: float = 500, part: str = "quiet") -> dict[str, Any]:
    found: dict[str, Any] = next(
        r for r in data["ratios"] if (r["role"], r["part"], r["per_thousand"]) == (role, part, per_thousand)
    )
    return found


def test_a_mode_that_refuses_most_records_is_neither_faster_nor_meets_a_goal(tmp_path: Path) -> None:
    path = bench_run(tmp_path / "run", rtt_ms={"b": 2.0, "c": 2.0}, refuses={"candidate": 0.9})
    part = plain_counts.part(path)
    made = plain(document.build([part], []))
    data = made["runs"][0]["bench"]
    reason = "not shown: 10.40 % of the records acknowledged with acks=min.insync.replicas, 100.00 % with acks=all"
    assert (ratio(data, "candidate")["estimate"], ratio(data, "candidate")["verdict"]) == (math.inf, reason)
    assert goal(data, "P1")["verdict"] == reason and goal(data, "P3")["verdict"].startswith("not shown: 10.40 %")
    assert ratio(data, "least")["verdict"] in ("improved", "not enough runs"), "others are compared as before"
    assert {s["role"]: s["percent"] for s in data["success"]} == {
        "candidate": "10.40 %",
        **dict.fromkeys(["baseline", "control", "least"], "100.00 %"),
    }
    (headline, *_) = made["headline"]
    assert headline == f"made: acks=min.insync.replicas and acks=all are not compared, {reason}."
    page = Text(render.page(made)).text
    assert "no answer" in page and reason in page and "10.40 %" in page
    assert "| 10.40 % | no answer |" in summary(made)
    assert set(benchmark_charts.pictures(data, "run")) == {"nines", "shift", "blocks"}
    json.dumps(finite(made), allow_nan=False)
    gate = {"name": "fast", "of": "ratio", "run": "made", "mode": "candidate", "quantile": "p50", "at_least": 0.1}
    (result,) = gates.evaluate(Gates.model_validate({"gates": [{**gate, "unknown": "met"}]}), made)
    assert not result.met and reason in result.observed


def test_a_few_refusals_are_the_slowest_records(tmp_path: Path) -> None:
    data = measured(tmp_path / "run", per_block=2000, refuses={"candidate": 0.001})
    found = {q: ratio(data, "candidate", q) for q in (500, 990)}
    assert found[500]["verdict"] == found[990]["verdict"] == "improved" and found[500]["high"] < 1
    by_quantile = {r["per_thousand"]: r["value_us"] for r in data["pooled"] if r["role"] == "candidate"}
    assert all(math.isfinite(by_quantile[q]) for q in (500, 900, 990))
    (mine,) = [s for s in data["success"] if s["role"] == "candidate"]
    assert (mine["records"], mine["answered"], mine["percent"]) == (12_000, 11_988, "99.90 %")


def test_a_lost_record_ends_all_comparisons_of_its_mode(tmp_path: Path) -> None:
    data = measured(tmp_path / "run", overwrites="candidate")
    reason = "not shown: 1 acknowledged records of acks=min.insync.replicas were lost"
    assert ratio(data, "candidate")["verdict"] == reason
    assert {row["verdict"] for row in data["goals"]} >= {reason}
    assert ratio(data, "control")["verdict"] == "within noise"


def test_rounds_without_any_answer_are_the_worst_ones(tmp_path: Path) -> None:
    data = measured(tmp_path / "run", per_block=100, rounds=9, fault=PAUSE, silent=("candidate", {2, 4, 7}))
    row = goal(data, "P4", 1)
    assert row["rounds"] == 9 and row["high"] == math.inf
    assert row["verdict"].startswith("not shown: 66.67 % of the records acknowledged")
    silent = [
        p for p in data["fault"]["parts"] if (p["role"], p["part"], p["max_us"]) == ("candidate", "fault", math.inf)
    ]
    assert [p["pair"] for p in silent] == [2, 4, 7]


def test_a_mode_without_any_answer_is_as_silent_as_the_part_is_long(tmp_path: Path) -> None:
    data = measured(tmp_path / "run", per_block=100, fault=KILL, silent=("candidate", set(range(6))))
    assert goal(data, "P5")["estimate"] == pytest.approx(2.0), "acks=all is silent for half of it"
    assert goal(data, "P5")["verdict"].startswith("not shown: 0.00 %")


@pytest.mark.parametrize(
    ("above", "below", "want"),
    [
        (2.0, 4.0, 0.5),
        (math.inf, 4.0, math.inf),
        (2.0, math.inf, 0.0),
        (math.inf, math.inf, None),
        (2.0, 0.0, math.inf),
        (0.0, 0.0, None),
    ],
)
def test_a_ratio_with_an_infinite_value(above: float, below: float, want: float | None) -> None:
    assert divided(above, below) == want


def test_rounds_that_neither_mode_answered_have_no_verdict() -> None:
    found = ratios([0.5, 0.6, 0.5, None, 0.7, 0.6])
    assert found is not None and (found["estimate"], found["not_shown"], found["rounds"]) == (None, NO_ANSWER, 6)


def test_infinite_ratios_widen_the_interval_to_infinity() -> None:
    one, all_but_one = ([0.5] * 6 + [math.inf], [math.inf] * 6 + [0.5])
    found, p = stats.signed_rank_ratio(one), stats.signed_rank_p(one)
    assert found is not None and (found.estimate, found.low, found.high) == (0.5, 0.5, math.inf)
    assert p is not None and p > 0.05
    worst = stats.signed_rank_ratio(all_but_one)
    assert worst is not None and worst.estimate == worst.high == math.inf
    never = stats.signed_rank_ratio([0.0] * 6)
    assert never is not None and never.high == 0
    assert stats.noise_factor(0.9, math.inf) == math.inf
    assert stats.verdict(0.1, 0.2, math.inf) == stats.verdict(2, math.inf, math.inf) == "within noise"
    equal = stats.equivalence([1.0] * 5 + [math.inf], 1.05)
    assert equal is not None and not equal.shown


def test_pooled_quantiles_beyond_the_answers_are_infinite() -> None:
    answered = {r: {float(v): 1 for v in range(1, 1001)} for r in range(6)}
    refused = {r: {**answered[r], math.inf: 500} for r in range(6)}
    found = label_swap.ratio(refused, answered, 900)
    assert found is not None and (found.estimate, found.low, found.high) == (math.inf, 0, math.inf)
    both = label_swap.ratio(refused, refused, 900)
    assert both is not None and both.low <= 1 <= both.high and both.p == 1
    half = label_swap.ratio(refused, answered, 500)
    assert half is not None and half.low > 1 and half.high < math.inf
    variants = ("candidate", "quiet"), ("baseline", "quiet")
    pooled = {variants[0]: {900: math.inf}, variants[1]: {900: math.inf}}
    rounds = {v: {r: {900: None} for r in range(6)} for v in variants}
    row = Rounds(rounds, pooled, dict.fromkeys(variants, refused)).ratio(*variants, 900)
    assert row is not None and row["not_shown"] == NO_ANSWER


def table(rows: Sequence[tuple[int, float, int]]) -> pa.Table:
    return pa.table({"block": [r[0] for r in rows], "value": [r[1] for r in rows], "records": [r[2] for r in rows]})


def test_records_that_nobody_received_are_infinitely_late() -> None:
    sent = table([(0, 0.0, 100), (1, 0.0, 50), (2, 0.0, 10)])
    received = table([(0, 5.0, 60), (0, 7.0, 39), (1, 5.0, 50)])
    found = counts.with_missing(received, sent, ["block"]).to_pylist()
    assert [r for r in found if math.isinf(r["value"])] == [
        {"block": 0, "value": math.inf, "records": 1},
        {"block": 2, "value": math.inf, "records": 10},
    ]


def test_quantiles_beside_an_infinite_rank() -> None:
    values = pa.table({"value": [1.0, 2.0, math.inf], "records": [100, 899, 1]})
    rows = {r["per_thousand"]: r["value_us"] for r in counts.quantiles(values, [], [500, 900])}
    assert rows == {500: 2.0, 900: 2.0}
    assert counts.bucketed(values)["value"].to_pylist() == [1.0, 2.0, math.inf]


@pytest.mark.parametrize(
    ("answered", "lost", "reason"),
    [
        (100_000, 0, ""),
        (99_900, 0, ""),
        (99_899, 0, "99.90 % of the records acknowledged with new, 100.00 % with old"),
        (99_999, 3, "3 acknowledged records of new were lost"),
    ],
)
def test_rates_are_comparable_within_the_margin(answered: int, lost: int, reason: str) -> None:
    assert not_comparable(Success("new", 100_000, answered, lost), Success("old", 100_000, 100_000)) == reason


def test_a_rate_is_not_rounded_to_all_or_nothing() -> None:
    shown = [Success("x", 10**6, n).percent for n in (0, 1, 999_999, 10**6)]
    assert shown == ["0.00 %", "more than 0 %", "less than 100 %", "100.00 %"]
