"""The checker against corrupted histories, each found and named, and against clean ones, where it must be silent."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_analysis.checker import timeline
from spark_analysis.checker.anomalies import NAMES
from spark_analysis.checker.check import CheckResult, unread
from spark_analysis.checker.cli import write_check
from spark_analysis.checker.history import producers, read_history
from spark_analysis.checker.page import page, text
from spark_analysis.cli import main
from spark_analysis.tests.copies import REAL, TABLES, evaluated, folder, real
from spark_analysis.tests.corruptions import CORRUPTIONS
from spark_analysis.tests.generated import event
from spark_analysis.tests.quorum_histories import ALLOWED, ANOMALIES, stories
from spark_analysis.tests.simulated import simulated

SEEDS = (1,)
CLEAN = 50
_FATES = {"lost-write", "lost-without-election", "lost-by-minimal-isr"}


def test_every_corruption_is_found_and_named(spark: SparkSession, tmp_path: Path) -> None:
    clean = real()
    parts = []
    for name, (_, corrupt) in CORRUPTIONS.items():
        for seed in SEEDS:
            part = clean.named(f"{name}-{seed}")
            corrupt(part, random.Random(seed))
            parts.append(part)
    found, _ = evaluated(spark, folder(tmp_path / "run", [clean.named("clean"), *parts]))
    assert "clean" not in found
    missed = {
        f"{name}-{seed}": f"wanted {sorted(kinds)}, found {sorted(found.get(f'{name}-{seed}', {}))}"
        for name, (kinds, _) in CORRUPTIONS.items()
        for seed in SEEDS
        if not kinds <= set(found.get(f"{name}-{seed}", {}))
    }
    assert not missed
    assert len(CORRUPTIONS) >= 20
    shown = {kind for kinds, _ in CORRUPTIONS.values() for kind in kinds} | {kind for kind, _ in ANOMALIES.values()}
    assert shown | {"lost-to-election"} == set(NAMES), "a kind that nothing shows"


def test_a_loss_with_acks_min_insync_replicas_is_allowed_only_where_an_election_explains_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    found, allowed = evaluated(spark, folder(tmp_path / "run", stories().values()))
    for name in ALLOWED:
        assert found.get(name, {}) == {}, name
        assert allowed.get(name) == {"lost-to-election": 1}, name
    for name, (kind, _) in ANOMALIES.items():
        assert found.get(name) == {kind: 1}, f"{name}: {found.get(name)}"
        rest = {} if kind in _FATES else {"lost-to-election": 1}  # what is wrong there is not the loss itself
        assert allowed.get(name, {}) == rest, f"{name}: {allowed.get(name)}"


def test_what_elections_lost_is_printed_and_no_anomaly() -> None:
    totals = {"acknowledged": 9, "refused": 0, "unknown": 0, "sent": 9, "acknowledged_by_quorum": 5}
    totals |= {"longest_silence_ms": 0, "replica_records": 0, "replica_logs": 0, "polled": 0, "watermarks": 0}
    result = CheckResult("run", 1, {}, {"lost-to-election": 2, "duplicate": 3}, totals, [], [])
    sentence = "2 of 5 records acknowledged with acks=min.insync.replicas were lost to elections, which level 1 allows"
    assert result.state == "ok"
    assert text(result).splitlines()[2:] == [
        "  duplicate: 3, allowed by the producer's settings or by Apache Kafka",
        f"  {sentence}",
    ]
    assert sentence in page([result])
    other = CheckResult("run", 1, {}, {}, totals | {"acknowledged_by_quorum": 0}, [], [])
    assert "elections" not in text(other) and "were lost to" not in page([other])


def test_a_producer_whose_acks_are_not_recorded_counts_as_acks_all() -> None:
    notes = [event(0, "note", "producer", producer="old"), event(0, "note", "producer", producer="new", acks="-2")]
    assert producers(notes) == [("old", True, True, False, False), ("new", True, True, False, True)]


def test_clean_histories_raise_no_alarm(spark: SparkSession, tmp_path: Path) -> None:
    parts = [simulated(seed).named(f"seed-{seed}") for seed in range(CLEAN)]
    results = {ack["result"] for part in parts for ack in part.acks}
    assert results == {"OK", "TIMEOUT", "NOT_ENOUGH_RACKS", ""}, "the made-up histories are too tame"
    found, allowed = evaluated(spark, folder(tmp_path / "run", parts))
    assert found == {}
    kinds = {kind for topic in allowed.values() for kind in topic}
    assert {"lost-write", "duplicate"} <= kinds, "what acks=1 may lose and repeat was not even observed"
    assert "lost-to-election" in kinds, "no election lost what a quorum had acknowledged"
    assert "nonmonotonic-send" in kinds, "what a client gave up on came late in none of them"
    assert "watermark-went-back" in kinds, "no new leader reported what it knew as a follower"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The real cycle as a run folder."""
    return Path(shutil.copytree(REAL, tmp_path / "run"))


def test_a_real_cycle_is_evaluated_ok(
    spark: SparkSession, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write_check([run], tmp_path / "out", master="local[2]") == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["verdict"] == "ok" and verdict["counts"] == {} and verdict["unread"] == []
    assert (
        verdict["totals"]["acknowledged"] == 1331
        and verdict["totals"]["refused"] == 22
        and verdict["totals"]["unknown"] == 7
    )
    assert verdict["totals"]["polled"] > 1300 and verdict["totals"]["watermarks"] > 100
    assert verdict["totals"]["replica_logs"] == 9 and verdict["totals"]["longest_silence_ms"] > 1000
    written = json.loads((tmp_path / "out" / "check.json").read_text(encoding="utf-8"))
    assert written["runs"][0]["anomalies"] == []
    assert "ok" in (tmp_path / "out" / "check.html").read_text(encoding="utf-8")


def test_a_lost_record_is_reported_with_its_full_history(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = real().named("orders")
    CORRUPTIONS["tail_cut"][1](part, random.Random(3))
    lost = max(a["offset"] for a in part.acks)
    assert (
        main(["check", str(folder(tmp_path / "run", [part])), "--out", str(tmp_path / "out"), "--master", "local[2]"])
        == 1
    )
    printed = capsys.readouterr().err
    assert "lost-write" in printed and "at the end on no replica" in printed
    written = json.loads((tmp_path / "out" / "check.json").read_text(encoding="utf-8"))["runs"][0]
    story = next(a for a in written["anomalies"] if a["anomaly"] == "lost-write" and a["offset"] == lost)["history"]
    lines = [line["what"] for line in story]
    assert any("sent to orders-1" in line for line in lines)
    assert any(f"OK, offset {lost}" in line for line in lines)
    assert any("leader" in line and "in sync" in line for line in lines)
    assert any(" received " in line for line in lines)
    assert "lost-write" in (tmp_path / "out" / "check.html").read_text(encoding="utf-8")


def test_data_that_was_not_read_makes_the_verdict_unknown(spark: SparkSession, run: Path, tmp_path: Path) -> None:
    events = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [e for e in events if json.loads(e)["name"] != "replica" or json.loads(e)["data"]["node"] != "b1"]
    (run / "events.jsonl").write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert main(["check", str(run), "--out", str(tmp_path / "out"), "--master", "local[2]"]) == 3
    (verdict,) = json.loads((tmp_path / "out" / "check.json").read_text(encoding="utf-8"))["runs"]
    assert verdict["verdict"] == "unknown"
    assert verdict["unread"] == [f"cycle-2-{p}: 2 of 3 replicas read" for p in range(3)]
    (run / "events.jsonl").write_text("", encoding="utf-8")
    assert unread(read_history(spark, run)) == [
        "the metadata log: acknowledgements were not compared with the in-sync replicas",
        *(f"cycle-2-{p}: 0 of 3 replicas read" for p in range(3)),
    ]


def test_min_racks_replaces_the_span_that_topics_require(spark: SparkSession, run: Path) -> None:
    history = read_history(spark, run)
    assert timeline.under_racks(history).isEmpty()
    assert timeline.under_racks(history, min_racks=3).select("topic").distinct().collect() == [("cycle-2",)]


def test_the_real_cycle_is_complete() -> None:
    assert all(any((REAL / name).glob("*.parquet")) for name in TABLES)
