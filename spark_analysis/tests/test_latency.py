"""Quantiles against numpy; the sample rule; nothing dropped."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from spark_analysis.statistics import counts
from spark_analysis.tests.generated import MS, START, ack, frame, window, windows
from spark_analysis.transforms import latency


def counted(values: NDArray[np.int64]) -> pa.Table:
    return pa.table({"g": ["g"] * len(values), "value": values.astype(float), "records": [1] * len(values)})


def test_quantiles_are_those_of_numpy() -> None:
    values = np.random.default_rng(3).lognormal(8, 1.5, 100_500).astype(int)
    got = {r["per_thousand"]: r["value_us"] for r in counts.quantiles(counted(values), ["g"])}
    assert set(got) == {500, 900, 990, 999, 999.9} and got.pop(999.9) is None
    for q, value in got.items():
        assert value == pytest.approx(np.percentile(values, q / 10), abs=1e-6)


@pytest.mark.parametrize(
    ("n", "deepest"),
    [(199, None), (200, 500), (1000, 900), (9_999, 900), (10_000, 990)],
)
def test_a_quantile_needs_a_hundred_samples_beyond_it(n: int, deepest: int | None) -> None:
    rows = counts.quantiles(counted(np.arange(n)), ["g"])
    assert max((r["per_thousand"] for r in rows if r["value_us"] is not None), default=None) == deepest
    assert {r["n"] for r in rows} == {n}


def test_latency_counts_from_the_due_time(spark: SparkSession) -> None:
    rows = [ack(0, 0, 7 * MS, sent_ns=START + 3 * MS)]
    acked = latency.acknowledged(frame(spark, "acks", rows))
    assertDataFrameEqual(
        acked.select("latency_us", "lag_us"),
        spark.createDataFrame([(7000, 3000)], "latency_us long, lag_us long"),
    )


def test_blocks_take_their_own_producers_records_inside_their_window(spark: SparkSession) -> None:
    rows = [ack(0, 9, 1), ack(1, 10, 1), ack(2, 19, 1), ack(3, 20, 1), ack(4, 15, 1, producer="other")]
    acks = frame(spark, "acks", rows).unionByName(frame(spark, "acks", [ack(5, 15, 1)], run="another"))
    inside = latency.in_blocks(acks, windows(spark, window(START + 10, START + 20, block=3, pair=1)))
    assert sorted((r["seq"], r["mode"], r["block"], r["pair"]) for r in inside.collect()) == [
        (1, "m", 3, 1),
        (2, "m", 3, 1),
    ]
