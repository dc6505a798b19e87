"""Counts by Spark and counts in plain Python are the same, for all that a benchmark's raw data holds."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_analysis.input.folders import read_folder
from spark_analysis.report.benchmark.raw import Raw
from spark_analysis.report.run_part import part_of
from spark_analysis.tests import plain_counts
from spark_analysis.tests.generated import MS, START, add_event, event, rows_of, write
from spark_analysis.tests.generated_bench import FAR, LEADER, NEAR, bench_run
from spark_analysis.tests.test_campaigns import consumed


def assert_equal_counts(spark: SparkSession, path: Path) -> Raw:
    """The raw data of the run, counted in both ways."""
    by_spark, plain = part_of(spark, read_folder(path)).raw, plain_counts.raw(path)
    assert isinstance(by_spark, Raw)
    for field in fields(Raw):
        mine, other = getattr(by_spark, field.name), getattr(plain, field.name)
        if isinstance(mine, pa.Table):
            mine, other = [(of.column_names, of.to_pylist()) for of in (mine, other)]
        elif field.name == "silences":
            mine, other = [sorted(of, key=lambda row: (row["block"], row["part"])) for of in (mine, other)]
        assert mine == other, field.name
    return by_spark


def test_records_fetches_and_polls_are_counted_alike(spark: SparkSession, tmp_path: Path) -> None:
    """Some are refused, late, lost, before their ideal, or beside fetches or polls that nobody has."""
    modes: dict[str, Any] = {"candidate": {"level": 2}, "control": {"acks": "-2"}}
    made: dict[str, Any] = {"refuses": {"baseline": 0.3}, "overwrites": "least", "late": (1, "baseline")}
    path = consumed(bench_run(tmp_path / "run", rounds=2, per_block=120, of_modes=modes, **made))
    acks = rows_of(path, "acks")
    early = {("all", 7), ("minisr", 8), ("minisr", 220), ("again", 9)}
    for row in acks:
        row["done_ns"] -= 300_000 if (row["producer"], row["seq"]) in early else 0
    write(path, "acks", [row for row in acks if row["seq"] != 33])
    fetches = rows_of(path, "fetches")
    write(path, "fetches", [row for row in fetches if row["follower"] != FAR or (row["leo"] % 50 and row["leo"] < 210)])
    write(path, "polls", [row for row in rows_of(path, "polls") if row["seq"] % 10])
    due = sorted(row["due_mono_ns"] for row in acks if row["producer"] == "minisr")
    first: dict[str, Any] = {"topic": "minisr", "partition": 0, "leader": LEADER, "from_ns": 0}
    sets = [
        {**first, "members": [LEADER, FAR]},
        {**first, "members": None, "from_ns": due[60] + MS // 2},
        {**first, "members": [], "from_ns": due[70] + MS // 2},
        {**first, "members": [LEADER, NEAR], "from_ns": due[150] + MS // 2},
        {**first, "members": [LEADER], "from_ns": due[160], "leader": NEAR},
        {**first, "members": [LEADER], "from_ns": due[170]},
        {**first, "topic": "again", "members": [LEADER]},
    ]
    add_event(path, event(acks[-1]["due_ns"] - START, "note", "awaited-sets", sets=sets))
    raw = assert_equal_counts(spark, path)
    assert raw.ideal is not None and raw.received is not None and raw.overwritten == {"one": 1}
    assert {outcome.as_py() for outcome in raw.latencies["outcome"]} == {"OK", "TIMEOUT"}
    assert min(v.as_py() for v in raw.ideal["value"]) < 0, "answered before the ideal"


@pytest.mark.parametrize("fault", [{"how": "kill", "target": "rack:c"}, {"how": "pause", "target": "c1"}])
def test_the_time_around_a_fault_is_counted_alike(spark: SparkSession, tmp_path: Path, fault: dict[str, Any]) -> None:
    made: dict[str, Any] = {"invalid": {(1, "baseline"): ["2 in sync"]}, "silent": ("candidate", {1})}
    more = {"seconds": 1.0, "recover": 0.3}
    path = bench_run(tmp_path / "run", rounds=2, per_block=70, fault=fault | more, unaffected=True, **made)
    acks = rows_of(path, "acks")
    write(path, "acks", [row | ({"done_ns": 0, "result": ""} if row["seq"] % 20 == 3 else {}) for row in acks])
    raw = assert_equal_counts(spark, path)
    assert len({r["silence_s"] for r in raw.silences}) > 2 and {r["role"] for r in raw.around} > {"least", "unaffected"}
    assert "UNANSWERED" in {outcome.as_py() for outcome in raw.latencies["outcome"]}
