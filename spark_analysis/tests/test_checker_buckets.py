"""Buckets: a border between two changes no verdict, nor do tasks of Spark."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_analysis.benchmarks.histories import write_history
from spark_analysis.checker.check import check
from spark_analysis.checker.history import read_history
from spark_analysis.checker.runner import InProcess, OnSpark
from spark_analysis.tests.copies import Small, evaluated, folder, real
from spark_analysis.tests.corruptions import CORRUPTIONS
from spark_analysis.tests.quorum_histories import stories
from spark_analysis.tests.simulated import simulated


def _corrupted(seed: int) -> list[Small]:
    parts = []
    for name, (_, corrupt) in CORRUPTIONS.items():
        parts.append(real().named(name))
        corrupt(parts[-1], random.Random(seed))
    return parts


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All corruptions, stories and some clean histories as one run folder."""
    clean = [simulated(seed).named(f"seed-{seed}") for seed in range(4)]
    return folder(tmp_path_factory.mktemp("every") / "run", [*_corrupted(2), *stories().values(), *clean])


@pytest.fixture(scope="module")
def in_one_bucket(every: Path) -> object:
    """Findings without any border."""
    return evaluated(every)


@pytest.mark.parametrize("bits", [4, 6])
def test_borders_between_buckets_change_no_verdict(every: Path, in_one_bucket: object, bits: int) -> None:
    assert evaluated(every, bits=bits) == in_one_bucket


@pytest.mark.variant
def test_tasks_of_spark_change_no_verdict(spark: SparkSession, every: Path, in_one_bucket: object) -> None:
    runner = OnSpark(spark)
    try:
        assert evaluated(every, runner, bits=8) == in_one_bucket
    finally:
        runner.close()


def test_in_a_large_run_exactly_what_is_planted_is_found(spark: SparkSession, tmp_path: Path) -> None:
    planted = write_history(tmp_path / "run", 6000, seed=3)
    runner = OnSpark(spark)
    for one in (runner, InProcess()):
        verdict = check(read_history(tmp_path / "run"), one, bits=8)
        assert verdict.counts == planted and verdict.unread == [] and verdict.allowed == {}
        assert verdict.totals["acknowledged"] == 6005 and verdict.totals["refused"] == 60
        assert verdict.totals["replica_records"] == 18000 and verdict.totals["replica_logs"] == 18
        assert verdict.totals["polled"] == 6000 and verdict.totals["longest_silence_ms"] == 0
    runner.close()
