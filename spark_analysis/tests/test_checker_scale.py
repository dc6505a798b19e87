"""Large runs take another way through the checker: here with few records, what is planted must be found, no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_analysis.benchmarks.histories import write_history
from spark_analysis.checker import check as module
from spark_analysis.checker.history import read_history


@pytest.fixture
def partitioned(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with as many tasks as a large run has at least; a small one has one."""
    single = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", str(single))


def test_a_large_run_is_evaluated_like_a_small_one(
    partitioned: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = write_history(tmp_path / "run", 6000, seed=3)
    monkeypatch.setattr(module, "SMALL_BYTES", 0)
    verdict = module.check(read_history(partitioned, tmp_path / "run"))
    assert verdict.counts == planted and verdict.unread == [] and verdict.allowed == {}
    assert verdict.totals["acknowledged"] == 6005 and verdict.totals["refused"] == 60
    assert verdict.totals["replica_records"] == 18000 and verdict.totals["replica_logs"] == 18
    assert verdict.totals["polled"] == 6000
