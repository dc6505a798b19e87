"""Counts in place of records: the same quantiles, lags and outcomes as from the records themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_analysis.input import schemas
from spark_analysis.report.benchmark import verdicts
from spark_analysis.report.benchmark.knee import knee, steps
from spark_analysis.report.benchmark.rounds import Rounds
from spark_analysis.statistics import counts, histograms
from spark_analysis.statistics.verdict_words import GOAL_MET, NO_CONTROL
from spark_analysis.tests.generated import MS, START, ack, frame
from spark_analysis.transforms import end_to_end

_ARROW = {"string": pa.string(), "int32": pa.int32(), "int64": pa.int64(), "double": pa.float64()}


def buckets(values: np.ndarray, measure: str, result: str = "", block: int = 0) -> list[dict[str, Any]]:
    """Rows as the load client writes them: values below 2048 by themselves, above in buckets of 3 digits."""
    width = 2 ** np.maximum(np.floor(np.log2(np.maximum(values, 1))).astype(np.int64) - 10, 0)
    lows, times = np.unique(values // width * width, return_counts=True)
    wide = 2 ** np.maximum(np.floor(np.log2(np.maximum(lows, 1))).astype(np.int64) - 10, 0)
    place = {"block": block, "part": "quiet", "producer": "p", "measure": measure, "result": result, "cause": ""}
    return [
        {**place, "low_us": int(low), "width_us": int(w), "records": int(n)}
        for low, w, n in zip(lows, wide, times, strict=True)
    ]


def table(rows: list[dict[str, Any]]) -> pa.Table:
    fields = schemas.contract()["tables"][histograms.TABLE]["fields"]
    return pa.Table.from_pylist(rows, pa.schema([pa.field(f["name"], _ARROW[f["type"]]) for f in fields]))


def test_quantiles_are_within_half_a_percent_of_the_records(tmp_path: Path) -> None:
    drawn = np.random.default_rng(5).lognormal(8, 1.4, 300_000).astype(np.int64)
    (tmp_path / histograms.TABLE).mkdir()
    pq.write_table(table(buckets(drawn, "latency", "OK")), tmp_path / histograms.TABLE / "p-0000.parquet")
    read = histograms.of(tmp_path)
    assert read is not None
    found = histograms.latencies(read)
    assert found.num_rows < 12_000
    for row in counts.quantiles(found, ["block"], (500, 900, 990, 999)):
        exact = np.quantile(drawn, row["per_thousand"] / 1000)
        assert row["n"] == 300_000 and row["value_us"] == pytest.approx(exact, rel=0.005)
    assert max(found["max_us"].to_pylist()) == pytest.approx(drawn.max(), rel=0.001)


def test_a_folder_that_keeps_records_has_none(tmp_path: Path) -> None:
    assert histograms.of(tmp_path) is None


def test_what_was_not_acknowledged_is_counted_by_outcome_and_has_no_latency() -> None:
    rows = [*buckets(np.array([5, 5, 9]), "latency", "OK"), *buckets(np.array([7]), "latency", "TIMEOUT")]
    rows += [*buckets(np.array([0] * 4), "latency"), *buckets(np.array([1]), "send_lag")]
    found = histograms.latencies(table(rows)).to_pylist()
    assert [(r["outcome"], r["value"], r["records"]) for r in found] == [
        ("OK", 5, 2),
        ("OK", 9, 1),
        ("TIMEOUT", None, 1),
        ("UNANSWERED", None, 4),
    ]


def test_send_lag_is_over_all_records_of_a_part() -> None:
    rows = [*buckets(np.array([100] * 95 + [20_000] * 5), "send_lag"), *buckets(np.array([3]), "send_lag", block=1)]
    first, second = counts.send_lags(histograms.send_lag(table(rows)))
    assert (first["records"], first["lag_p99_us"]) == (100, pytest.approx(20_000, rel=0.001))
    assert (second["block"], second["records"], second["lag_p99_us"]) == (1, 1, 3)


def test_end_to_end_is_from_due_until_the_consumer_had_it_first(spark: SparkSession) -> None:
    acks = frame(spark, "acks", [ack(i, i * MS, MS) for i in range(4)]).selectExpr("*", "0 block", "'quiet' part")
    read = [(0, 7), (1, 9), (1, 12), (2, 7)]  # the last record never came, one came twice
    rows = [("r", "p", seq, START + seq * MS + took * MS) for seq, took in read]
    polls = spark.createDataFrame(rows, "run string, producer string, seq long, read_ns long")
    found = {r["value"]: r["records"] for r in end_to_end.counted(acks, polls).collect()}
    assert found == {7000: 2, 9000: 1}


MODES = [{"role": role, "label": role} for role in ("baseline", "control", "stock")]


def step(role: str, pair: int, rate: float, acked: float, beyond: str = "") -> dict[str, Any]:
    place = {"block": pair, "part": f"rate-{rate:g}", "pair": pair, "mode": role, "role": role}
    observed = {"rate": rate, "acked_per_s": acked, "p99_us": 10 * rate, "lag_p99_us": 5, "beyond": beyond}
    return {"kind": "phase", "name": "block", "state": "end", "data": {**place, **observed}}


def test_the_knee_is_the_highest_sustained_rate_and_capacity_the_most_answers() -> None:
    events = []
    for pair in range(6):
        for role, most in (("baseline", 3_300.0 + pair), ("control", 3_600.0 + pair), ("stock", 3_000.0 + pair)):
            events += [step(role, pair, 1000, 1000), step(role, pair, 2000, 2000)]
            events.append(step(role, pair, 4000, most, f"{most} of 4,000"))
    events.append(step("stock", 6, 1000, 9_999))
    found = steps(events, [{"block": 6, "part": "rate-1000"}])
    data = knee(MODES, found, {}, "")
    assert [(r["role"], r["per_s"], r["knee_rate"], r["ended"]) for r in data["capacity"]] == [
        ("baseline", 3302.5, 2000, 6),
        ("control", 3602.5, 2000, 6),
        ("stock", 3002.5, 2000, 6),
    ]
    last = [r for r in data["steps"] if r["rate"] == 4000]
    assert [(r["role"], r["beyond"], r["rounds"], r["p99_us"]) for r in last] == [
        ("baseline", 6, 6, 40_000),
        ("control", 6, 6, 40_000),
        ("stock", 6, 6, 40_000),
    ]
    assert last[0]["why"] == "3300.0 of 4,000"
    assert data["over_stock"]["estimate"] == pytest.approx(1.1, rel=0.001) and data["over_stock"]["low"] > 1.09
    (row,) = verdicts.goals({"knee": data, "modes": MODES, "workload": {"fault": None}}, Rounds({}, {}))
    assert row["estimate"] == data["over_stock"]["estimate"] and row["verdict"] == (
        "not shown: acks=all differs from itself by a factor of 1.09, more than the floor"
    )
    data["ratios"]["control"] |= {"low": 0.999, "high": 1.001}
    (row,) = verdicts.goals({"knee": data, "modes": MODES, "workload": {"fault": None}}, Rounds({}, {}))
    assert row["verdict"] == GOAL_MET
    data["ratios"].pop("control")
    (row,) = verdicts.goals({"knee": data, "modes": MODES, "workload": {"fault": None}}, Rounds({}, {}))
    assert row["verdict"] == NO_CONTROL
