"""Blocks that lack records that were due: a client that died, a file that was cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_analysis.report.benchmark.blocks import evaluate_blocks
from spark_analysis.tests import plain_counts
from spark_analysis.tests.generated_bench import bench_run
from spark_analysis.tests.test_success import ratio

POISSON, CLOSED = {"arrivals": "poisson"}, {"arrivals": "fixed", "unanswered_kib": 2048}


def invalid(due: int, seconds: float, load: dict[str, Any], saturated: str = "", **spec: Any) -> list[str]:
    """The reasons of one block with so many records, at 100 a second."""
    block = {"block": 0, "pair": 0, "mode": "m", "role": "candidate", "part": "quiet", "begin_mono_ns": 0}
    block |= dict.fromkeys(("cpu_busy", "cpu_own", "steal", "isr", "rtt_off", "stalls", "brokers_cpu_s", "acked"))
    block |= {"end_mono_ns": round(seconds * 1e9), "invalid": [], "saturated": saturated}
    lag = {"block": 0, "part": "quiet", "records": due, "lag_p99_us": 5.0, "lag_grew_us": None}
    made = {"load": {"rate": 100.0, **load}, "limits": {"send_lag_p99_ms": 10.0}, **spec}
    (found,) = evaluate_blocks([block], [lag], {(0, "quiet"): due}, made)
    reasons: list[str] = found["invalid"]
    return reasons


@pytest.mark.parametrize(
    ("due", "seconds", "load", "reasons"),
    [
        (1000, 10.0, {}, []),
        (950, 10.0, {}, []),
        (940, 10.0, {}, ["940 of about 1,000 records are on file"]),
        (10, 0.11, {}, []),
        (9, 0.11, {}, ["9 of about 11 records are on file"]),
        (850, 10.0, POISSON, []),
        (840, 10.0, POISSON, ["840 of about 1,000 records are on file"]),
        (9, 10.0, CLOSED, []),
    ],
)
def test_a_block_with_far_fewer_records_than_its_rate_makes_due_is_invalid(
    due: int, seconds: float, load: dict[str, Any], reasons: list[str]
) -> None:
    assert invalid(due, seconds, load) == reasons


def test_a_ramp_and_a_mode_that_saturates_the_machine_have_no_stated_rate() -> None:
    assert invalid(9, 10.0, {}, ramp={"rates": [100, 200]}) == []
    assert invalid(9, 10.0, {}, saturated="its own brokers") == []


def test_a_mode_whose_slow_records_are_not_on_file_meets_no_goal(tmp_path: Path) -> None:
    path = bench_run(tmp_path / "run", rtt_ms={"b": 2.0, "c": 2.0})
    (file,) = (path / "acks").glob("*.parquet")
    acks = pq.read_table(file)
    mine = np.array(acks["producer"].to_pylist()) == "minisr"
    pq.write_table(acks.filter(pa.array(~(mine & (acks["seq"].to_numpy() % 250 >= 100)))), file)
    data = plain_counts.section(path)
    assert {tuple(b["invalid"]) for b in data["invalid"]} == {("100 of about 250 records are on file",)}
    reason = "not shown: 6 of 6 blocks invalid with acks=min.insync.replicas, 0 of 6 with acks=all"
    assert ratio(data, "candidate")["verdict"] == reason
