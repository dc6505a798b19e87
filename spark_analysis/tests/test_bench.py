"""Parts of a benchmark's analysis on rows with known answers."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analysis.report.benchmark import verdicts
from spark_analysis.report.benchmark.goals import GOALS, evaluated, verdict
from spark_analysis.report.benchmark.rounds import Rounds
from spark_analysis.statistics import counts
from spark_analysis.statistics.verdict_words import ACROSS, BEYOND, FLOOR_MET, GOAL_MET, NO_CONTROL, NOT_ENOUGH
from spark_analysis.tests.generated import MS, SECOND, START, ack, frame, window, windows
from spark_analysis.transforms import benchmark, latency


def test_buckets_are_close_to_what_they_stand_for(spark: SparkSession) -> None:
    values = [*range(0, 300), 511, 512, 513, 1023, 1024, 99_999, 1_000_000, 20_000_000]
    data = spark.createDataFrame([(v,) for v in values], "latency_us long")
    rows = data.withColumn("value", benchmark.bucket(F.col("latency_us"))).collect()
    for r in rows:
        assert r["value"] == pytest.approx(r["latency_us"], rel=0.002, abs=0.01)
    assert [r["value"] for r in rows if r["latency_us"] < 256] == list(range(256))


def test_silence_counts_from_the_begin_to_the_end_of_the_part(spark: SparkSession) -> None:
    part = window(START + SECOND, START + 5 * SECOND, part="fault")
    other = {**part, "producer": "q", "mode": "n", "role": "baseline", "block": 1}
    rows = [
        ack(0, 0, 100 * MS),  # before the part
        ack(1, SECOND, 1500 * MS),  # done at 2.5 s
        ack(2, SECOND, 1700 * MS),
        ack(3, 4 * SECOND, 900 * MS),  # done at 4.9 s
        ack(4, 3 * SECOND, 100 * MS, result="TIMEOUT"),
    ]
    found = benchmark.silences(frame(spark, "acks", rows), windows(spark, part, other)).collect()
    assert {r["role"]: r["silence_s"] for r in found} == {"candidate": pytest.approx(2.2), "baseline": 4.0}


def send_lags(inside: DataFrame) -> list[dict[str, Any]]:
    counted = benchmark.record_counts(inside, exact=True).toArrow()
    return counts.send_lags(counted.filter(pc.field("measure") == benchmark.SEND_LAG))


def test_send_lag_counts_records_without_an_answer_too(spark: SparkSession) -> None:
    rows = [ack(i, i * MS, None, sent_ns=START + i * MS + (50 * MS if i >= 90 else 0)) for i in range(100)]
    quarter = f"floor((due_ns - {START}) / {25 * MS}) quarter"
    data = frame(spark, "acks", rows).selectExpr("*", "0 pair", "0 block", "'quiet' part", quarter)
    (row,) = send_lags(data)
    assert (row["records"], row["lag_p99_us"], row["lag_grew_us"]) == (100, 50_000, 0)


def test_a_growing_send_lag_is_noticed_while_it_is_small(spark: SparkSession) -> None:
    rows = [ack(i, i * MS, MS, sent_ns=START + i * MS + i * MS // 20) for i in range(100)]
    inside = latency.in_blocks(frame(spark, "acks", rows), windows(spark, window(START, START + 100 * MS)))
    (row,) = send_lags(inside)
    assert row["lag_p99_us"] < 5_000 and row["lag_grew_us"] == pytest.approx(3_750, abs=100)


def test_latency_around_a_moment_is_by_when_records_were_due(spark: SparkSession) -> None:
    rows = [ack(i, i * 100 * MS, (1 + i) * MS) for i in range(40)]
    around = [("r", "p", 0, "x", 500 * MS, 2500 * MS, SECOND)]
    schema = "run string, producer string, pair int, role string, from_ns long, until_ns long, origin_ns long"
    found = benchmark.around(frame(spark, "acks", rows), spark.createDataFrame(around, schema), 500 * MS)
    got = {r["bucket"]: (r["p50_us"], r["max_us"]) for r in found.collect()}
    assert got == {-1: (8000, 10_000), 0: (13_000, 15_000), 1: (18_000, 20_000), 2: (23_000, 25_000)}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.1, 0.2, GOAL_MET),
        (0.1, 0.29, FLOOR_MET),
        (0.1, 0.31, ACROSS),
        (0.31, 0.4, BEYOND),
        (None, None, NOT_ENOUGH),
    ],
)
def test_the_verdict_is_that_of_the_full_interval(low: float | None, high: float | None, expected: str) -> None:
    assert verdict(GOALS["P2", 500], low, high, 1.0) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.86, 1, GOAL_MET), (0.8, 0.9, FLOOR_MET), (0.7, 0.9, ACROSS), (0.1, 0.7, BEYOND)]
)
def test_where_more_is_better_the_lower_end_decides(low: float, high: float, expected: str) -> None:
    assert verdict(GOALS["P2", "share"], low, high, 0.0) == expected


@pytest.mark.parametrize(
    ("name", "low", "high", "noise", "expected"),
    [
        (("P2", 500), 0.1, 0.19, None, NO_CONTROL),
        (("P2", 500), 0.1, 0.19, 1.04, GOAL_MET),
        (("P2", 500), 0.1, 0.19, 1.1, FLOOR_MET),
        (("P2", 500), 0.1, 0.19, 1.6, ACROSS),
        (("P2", 500), 0.31, 0.4, 1.1, ACROSS),
        (("P2", "share"), 0.86, 1, None, NO_CONTROL),
        (("P2", "share"), 0.86, 1, 0.05, FLOOR_MET),
        (("P2", "share"), 0.86, 1, 0.2, ACROSS),
        (("P8", 500), 0.99, 1.01, 1.2, ACROSS),
    ],
)
def test_more_noise_never_passes_more_easily_and_without_a_control_nothing_does(
    name: tuple[str, int | str], low: float, high: float, noise: float | None, expected: str
) -> None:
    assert verdict(GOALS[name], low, high, noise) == expected


def test_what_cannot_be_measured_says_why() -> None:
    row = evaluated(
        GOALS["P1", 500],
        {"estimate": 0.5, "low": 0.4, "high": 0.6, "rounds": 9, "not_shown": ""},
        1.0,
        why_not="no delays",
    )
    assert (row["verdict"], row["estimate"]) == ("not measurable here: no delays", 0.5)


def test_rounds_that_carry_a_quantile_are_compared_one_by_one() -> None:
    new, old = ("candidate", "quiet"), ("baseline", "quiet")
    quantiles = {new: {r: {500: 80.0 + r} for r in range(7)}, old: {r: {500: 100.0 + r} for r in range(1, 8)}}
    found = Rounds(quantiles, {}).ratio(new, old, 500)
    assert found is not None
    assert (found["rounds"], found["method"]) == (6, "per round"), "rounds that only one variant has do not count"
    assert found["low"] == pytest.approx(81 / 101) and found["high"] == pytest.approx(86 / 106)


def test_a_quantile_that_no_block_carries_alone_is_pooled() -> None:
    new, old = ("candidate", "quiet"), ("baseline", "quiet")
    rounds = {r: {990: None} for r in range(6)}
    histogram = {r: {float(v): 1 for v in range(1, 1001)} for r in range(6)}
    doubled = {r: {2.0 * v: 1 for v in range(1, 1001)} for r in range(6)}
    measured = Rounds(
        {new: rounds, old: rounds}, {new: {990: 990.0}, old: {990: 1980.0}}, {new: histogram, old: doubled}
    )
    found = measured.ratio(new, old, 990)
    assert found is not None and (found["method"], found["estimate"]) == ("pooled", 0.5)
    assert [found["low"], found["high"]] == pytest.approx([0.5, 0.5], rel=1e-6)
    assert Rounds({new: rounds, old: rounds}, {new: {990: None}, old: {990: 1.0}}).ratio(new, old, 990) is None


def test_a_pooled_estimate_is_of_the_rounds_that_both_have_as_its_interval_is() -> None:
    new, old = ("candidate", "quiet"), ("baseline", "quiet")
    some = {r: {float(v): 1 for v in range(1, 1001)} for r in range(6)}
    # The candidate has none of the slow rounds.
    every = {r: {(2.0 if r < 6 else 20.0) * v: 1 for v in range(1, 1001)} for r in range(16)}
    none = {new: {r: {900: None} for r in some}, old: {r: {900: None} for r in every}}
    measured = Rounds(none, {new: {900: 900.0}, old: {900: 18_000.0}}, {new: some, old: every})
    for pair, ratio in (((new, old), 0.5), ((old, new), 2.0)):
        found = measured.ratio(*pair, 900)
        assert found is not None and found["rounds"] == 6
        assert [found[name] for name in ("estimate", "low", "high")] == pytest.approx([ratio] * 3, rel=1e-5)
    few = {r: {float(v): 1 for v in range(1, 101)} for r in range(6)}
    measured = Rounds(none, {new: {900: 90.0}, old: {900: 18_000.0}}, {new: few, old: every})
    assert measured.ratio(new, old, 900) is None, "600 records do not carry p90"


def test_share_removed_is_of_the_wait_beyond_the_least() -> None:
    variants = [("candidate", "quiet"), ("baseline", "quiet"), ("least", "quiet")]
    values = (20.0, 110.0, 10.0)
    measured = Rounds({s: {r: {500: v} for r in range(6)} for s, v in zip(variants, values, strict=True)}, {})
    found = measured.share_removed(variants[0], variants[1], variants[2], 500)
    assert found is not None and (found["estimate"], found["rounds"]) == (0.9, 6)


def test_p0_is_patched_over_stock_and_measured_only_where_stock_takes_part() -> None:
    variants = {("baseline", "quiet"): 102.0, ("stock", "quiet"): 100.0}
    found = Rounds({s: {r: {500: v, 990: 2 * v} for r in range(6)} for s, v in variants.items()}, {})
    modes = [{"role": "candidate", "acks": "all"}, {"role": "baseline", "acks": "all"}]
    data: dict[str, Any] = {
        "workload": {"fault": None},
        "modes": [*modes, {"role": "stock", "acks": "all"}],
        "noise": [],
        "stock_again": {500: None, 990: None},
    }
    rows = verdicts.goals(data, found)
    assert [(row["id"], row["estimate"], row["verdict"]) for row in rows] == [
        ("P0", pytest.approx(1.02), NO_CONTROL),
        ("P0", pytest.approx(1.02), NO_CONTROL),
    ]
    calm = verdicts.goals(
        {**data, "noise": [{"part": "quiet", "per_thousand": q, "factor": 1.001} for q in (500, 990)]}, found
    )
    assert [row["verdict"] for row in calm] == [GOAL_MET, GOAL_MET]
    assert rows[0]["note"] == "", "no control, no verdict"
    assert calm[0]["note"] == "equal within a factor of 1.05: shown, p = 0.016"
    close = verdicts.goals(
        {**data, "noise": [{"part": "quiet", "per_thousand": q, "factor": 1.04} for q in (500, 990)]}, found
    )
    assert close[0]["note"] == "equal within a factor of 1.05: not shown, p = 1", "the noise takes the margin"
    loud = verdicts.goals({**data, "noise": [{"part": "quiet", "per_thousand": 500, "factor": 1.07}]}, found)
    assert loud[0]["verdict"] == "not shown: acks=all differs from itself by a factor of 1.07, more than the floor"
    assert loud[1]["verdict"] == NO_CONTROL
    assert verdicts.goals({**data, "modes": modes}, found) == [], "a candidate that waits for all has no other goal"
