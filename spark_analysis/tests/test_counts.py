"""Quantiles of counts against exact ones: microseconds as they are, and buckets of generated data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from spark_analysis.input import spark_schemas
from spark_analysis.statistics import counts
from spark_analysis.tests.generated import SECOND, START, window, windows
from spark_analysis.transforms import benchmark, latency

REQUESTED = (500, 750, 900, 950, 990, 995, 999, 999.9)
N = 1_000_000


def table(values: NDArray[np.int64], by: str = "g") -> pa.Table:
    found, times = np.unique(values, return_counts=True)
    return pa.table({"g": pa.array([by] * len(found)), "value": found.astype(float), "records": times})


def made(name: str) -> NDArray[np.int64]:
    """Latencies in microseconds, a million of each kind."""
    chance = np.random.default_rng(7)
    if name == "lognormal":
        drawn = chance.lognormal(8, 0.8, N)
    elif name == "pareto":
        drawn = 500 * (1 + chance.pareto(1.1, N))
    elif name == "bimodal":
        drawn = np.where(chance.random(N) < 0.97, chance.normal(3000, 200, N), chance.normal(9e6, 1e5, N))
    else:
        drawn = np.full(N, 123_457.0)
    drawn_us: NDArray[np.int64] = np.maximum(drawn, 1).astype(np.int64)
    return drawn_us


@pytest.mark.parametrize("name", ["lognormal", "pareto", "bimodal", "constant"])
def test_quantiles_of_generated_data_are_within_half_a_percent(name: str) -> None:
    values = made(name)
    want = np.percentile(values, [q / 10 for q in REQUESTED])
    exact_counts = table(values)
    assert counts.bucketed(exact_counts).num_rows == exact_counts.num_rows, (
        "one row a value: buckets are merged by summing"
    )
    exact = [r["value_us"] for r in counts.quantiles(exact_counts, ["g"], REQUESTED)]
    assert exact == pytest.approx(want, rel=1e-9)
    rough = [r["value_us"] for r in counts.quantiles(counts.bucketed(exact_counts), ["g"], REQUESTED)]
    assert rough == pytest.approx(want, rel=0.005) and len(rough) == len(REQUESTED)


def test_groups_are_kept_apart_and_a_short_one_has_no_deep_quantile() -> None:
    both = pa.concat_tables([table(np.arange(10_000), "b"), table(np.arange(200), "a")])
    rows = counts.quantiles(both, ["g"], (500, 990, 999))
    assert [(r["g"], r["per_thousand"], r["n"], r["value_us"]) for r in rows] == [
        ("a", 500, 200, 99.5),
        ("a", 990, 200, None),
        ("a", 999, 200, None),
        ("b", 500, 10_000, 4999.5),
        ("b", 990, 10_000, pytest.approx(9899.01)),
        ("b", 999, 10_000, None),
    ]
    assert counts.quantiles(both.slice(0, 0), ["g"]) == []


@pytest.mark.parametrize(
    ("n", "q", "yes"), [(199, 500, False), (200, 500, True), (999_999, 999.9, False), (N, 999.9, True)]
)
def test_a_quantile_needs_a_hundred_records_beyond_it(n: int, q: float, yes: bool) -> None:
    assert counts.carried(n, q) is yes


@pytest.mark.parametrize("exact", [True, False])
def test_spark_counts_as_numpy_does(spark: SparkSession, tmp_path: Path, exact: bool) -> None:
    """From Parquet to quantiles, through both ways of counting."""
    values = made("lognormal")[:20_000]
    due = START + np.arange(len(values)) * 1000
    columns: dict[str, Any] = {
        "producer": pa.array(["p"] * len(values)),
        "due_ns": due,
        "sent_ns": due,
        "done_ns": np.where(np.arange(len(values)) % 100 == 0, 0, due + values * 1000),
        "result": pa.array(["OK"] * len(values)),
    }
    schema = spark_schemas.table("acks")
    blank = {f.name: pa.array([""] * len(values)) for f in schema if f.dataType.simpleString() == "string"}
    zero = {f.name: np.zeros(len(values), np.int32 if f.dataType.simpleString() == "int" else np.int64) for f in schema}
    pq.write_table(pa.table({**zero, **blank, **columns}).select(schema.names), tmp_path / "acks.parquet")
    acks = spark.read.schema(schema).parquet(str(tmp_path / "acks.parquet")).selectExpr("'r' run", "*")
    inside = latency.in_blocks(acks, windows(spark, window(START, START + SECOND)))
    found = benchmark.record_counts(inside, exact=exact).toArrow()
    assert sum(found.filter(pc.field("measure") == benchmark.SEND_LAG)["records"].to_pylist()) == len(values)
    found = found.filter(pc.field("measure") == benchmark.LATENCY)
    by_outcome = found.group_by("outcome").aggregate([("records", "sum")]).to_pylist()
    assert {r["outcome"]: r["records_sum"] for r in by_outcome} == {"OK": 19_800, "UNANSWERED": 200}
    answered = np.delete(values, np.arange(0, len(values), 100))
    assert max(v for v in found["max_us"].to_pylist() if v is not None) == answered.max()
    got = counts.quantiles(found.filter(pc.equal(found["outcome"], "OK")), ["block"], (500, 900, 990))
    want = np.percentile(answered, [50, 90, 99])
    assert [r["value_us"] for r in got] == pytest.approx(want, rel=1e-9 if exact else 0.002)
