"""A benchmark from its run folder to the page: every goal on runs with a known answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_analysis.errors import AnalysisError
from spark_analysis.input.folders import read_folder
from spark_analysis.report import document, render
from spark_analysis.report.benchmark import benchmark_charts
from spark_analysis.report.run_part import part_of
from spark_analysis.tests import plain_counts
from spark_analysis.tests.generated import SECOND
from spark_analysis.tests.generated_bench import bench_run, measured
from spark_analysis.tests.test_report import Text

# p50 of a block: the near follower takes 1 to 1.249 ms; the answer 0.1 ms more.
NEAR_P50, BACK = 1.1245, 0.1


def goal(data: dict[str, Any], name: str, number: int = 0) -> dict[str, Any]:
    rows = [row for row in data["goals"] if row["id"] == name]
    row: dict[str, Any] = rows[number]
    return row


def test_p1_is_measured_beside_the_noise_between_two_equal_modes(equal_racks: dict[str, Any]) -> None:
    row = goal(equal_racks, "P1")
    want = (NEAR_P50 + BACK) / (3 * NEAR_P50 + BACK)
    assert row["estimate"] == pytest.approx(want, rel=0.01)
    assert (row["rounds"], row["verdict"]) == (6, "meets the goal")
    noise = next(r for r in equal_racks["ratios"] if r["role"] == "control" and r["per_thousand"] == 500)
    assert (noise["low"], noise["estimate"], noise["high"]) == (1, 1, 1)
    assert goal(equal_racks, "P1", 1)["verdict"] == "not enough runs", "1,500 records a mode do not carry p99"
    assert {r["role"]: r["n"] for r in equal_racks["pooled"]} == dict.fromkeys(
        ["candidate", "baseline", "control", "least"], 1500
    )


def test_p2_needs_racks_of_unequal_distance(tmp_path: Path) -> None:
    data = measured(tmp_path / "run", rtt_ms={"b": 2.0, "c": 20.0})
    assert [row["id"] for row in data["goals"]] == ["P2", "P2", "P2", "P3", "P3"]
    share = goal(data, "P2", 2)
    # Of what acks=all waits beyond acks=1 (the far follower's time) the near one's third is still waited for.
    assert share["estimate"] == pytest.approx(2 / 3, rel=0.001)
    assert share["verdict"] == "does not meet the floor" and goal(data, "P2")["verdict"] == "does not meet the floor"


def test_p5_is_measured_with_a_rack_of_followers_killed(tmp_path: Path) -> None:
    fault = {"how": "kill", "target": "rack:c", "seconds": 1.0, "recover": 0.0}
    row = goal(measured(tmp_path / "run", per_block=100, fault=fault), "P5")
    # acks=all is silent for the first half of the part; the candidate's longest gap is 10 ms and what latency differs.
    assert row["estimate"] == pytest.approx(0.0101 / 0.5, rel=0.05)
    assert row["verdict"] == "meets the goal"


SAFE = {"level": 2, "label": "safe"}


def test_p7_alone_is_measured_where_the_baseline_has_acks_min_insync_replicas(tmp_path: Path) -> None:
    naive = {"acks": "-2", "level": 1}
    made: dict[str, Any] = {"rtt_ms": {"b": 2.0, "c": 20.0}, "rounds": 4, "per_block": 100}
    data = measured(tmp_path / "run", of_modes={"candidate": SAFE, "baseline": naive, "control": naive}, **made)
    assert [row["id"] for row in data["goals"]] == ["P7", "P7"], "nothing is compared with acks=all"
    assert goal(data, "P7")["estimate"] == pytest.approx((NEAR_P50 + BACK) / (3 * NEAR_P50 + BACK), rel=0.1)
    both = {"baseline": naive, "control": naive}
    assert measured(tmp_path / "levels", of_modes=both, **made)["goals"] == [], "neither is at level 2"
    fault = {"how": "pause", "target": "c1", "seconds": 1.0, "recover": 0.0}
    paused = measured(tmp_path / "paused", of_modes={"candidate": SAFE, **both}, **made, fault=fault)
    assert paused["goals"] == []


@pytest.mark.parametrize("target", ["a1", "rack:a"])
def test_p7_is_measured_against_stock_where_the_leader_is_killed(tmp_path: Path, target: str) -> None:
    fault = {"how": "kill", "target": target, "seconds": 1.0, "recover": 0.0}
    stock = {"distribution": "stock"}
    of_modes = {"candidate": SAFE, "baseline": stock, "control": stock}
    (row,) = measured(tmp_path / "run", per_block=100, fault=fault, of_modes=of_modes)["goals"]
    assert (row["id"], row["verdict"]) == ("P7", "meets the goal") and "the leader killed" in row["what"]
    assert measured(tmp_path / "other", per_block=100, fault=fault)["goals"] == []


def test_blocks_beyond_a_limit_are_invalid_and_the_page_says_why(tmp_path: Path) -> None:
    invalid: dict[tuple[int, str], list[str] | None] = {
        (0, "candidate"): ["the processors were 95% busy"],
        (2, "control"): ["20% of the processors' time was taken away"],
        (5, "control"): None,
    }
    path = bench_run(tmp_path / "run", rounds=2, invalid=invalid, late=(1, "baseline"))
    part = document.part(plain_counts.raw(path))
    made = document.build([part.data], [])
    shown = made["runs"][0]
    assert [(b["block"], b["invalid"]) for b in shown["bench"]["invalid"]] == [
        (0, ["the processors were 95% busy"]),
        (1, ["the load client was late: send lag p99 20.0 ms"]),
        (2, ["20% of the processors' time was taken away"]),
        (5, ["the run does not say whether the machine was fit for it"]),
    ]
    assert {r["role"]: r["n"] for r in shown["bench"]["pooled"]} == {"candidate": 250, "baseline": 250, "least": 500}
    assert shown["warnings"] == [
        "run: 4 of 8 measured parts of blocks are invalid and skipped (1 of 2 of acks=min.insync.replicas, 1 of 2 of "
        "acks=all, 2 of 2 of acks=all once more); the first: the processors were 95% busy.",
        "run: fewer rounds than planned are valid: 0 of the 2 planned, 2 ran.",
    ]
    text = Text(render.page(made)).text
    assert all(reason in text for b in shown["bench"]["invalid"] for reason in b["invalid"])
    assert all(sentence in text for sentence in shown["findings"])
    assert "not enough runs" in text and "seed 11" in text
    assert set(part.tables) == {"bench_block_quantiles", "bench_histogram", "bench_outcomes", "bench_oracle"}


def test_a_run_without_valid_blocks_says_so_and_has_no_pictures(tmp_path: Path) -> None:
    busy = {
        (n, str(r)): ["the processors were 100% busy"]
        for n in range(4)
        for r in ("candidate", "baseline", "control", "least")
    }
    part = plain_counts.part(bench_run(tmp_path / "run", rounds=1, invalid=busy))
    made = document.build([part], [])
    assert benchmark_charts.pictures(made["runs"][0]["bench"], "run") == {}
    assert "4 of 4 measured parts are invalid" in Text(render.page(made)).text


@pytest.mark.parametrize(
    ("producer", "row", "column", "by", "reported"),
    [
        ("again", 7, "done_ns", -SECOND, "1 record of producer again answered before they were sent"),
        ("minisr", 300, "due_mono_ns", 3 * SECOND // 2, "moved by 1.500 s against each other until the due times of"),
    ],
)
def test_a_clock_that_went_back_is_refused(
    spark: SparkSession, tmp_path: Path, producer: str, row: int, column: str, by: int, reported: str
) -> None:
    path = bench_run(tmp_path / "run", rounds=2)
    (file,) = (path / "acks").glob("*.parquet")
    acks = pq.read_table(file).to_pylist()
    [ack for ack in acks if ack["producer"] == producer][row][column] += by
    pq.write_table(pa.Table.from_pylist(acks, pq.read_schema(file)), file)
    with pytest.raises(AnalysisError, match=reported):
        part_of(spark, read_folder(path))


def test_pictures_show_every_mode_by_name(equal_racks: dict[str, Any]) -> None:
    found = benchmark_charts.pictures(equal_racks, "run")
    assert set(found) == {"nines", "shift", "blocks"}
    for mode in ("acks=min.insync.replicas", "acks=1"):
        assert all(mode in svg for svg in found.values())
    assert not [svg for svg in found.values() if re.search(r"#0[1-5]0", svg)], "a stand-in colour was left"
