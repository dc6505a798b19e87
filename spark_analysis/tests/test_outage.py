"""Buckets, silences and first answers with known places."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from spark_analysis.report import charts, timeline
from spark_analysis.tests.generated import MS, SECOND, START, ack, event, frame
from spark_analysis.transforms import latency, outage


def test_records_count_when_they_are_answered_and_else_when_they_were_due(spark: SparkSession) -> None:
    acks = frame(spark, "acks", [ack(0, 0, 5 * SECOND), ack(1, SECOND, None), ack(2, SECOND, MS, result="X")])
    assertDataFrameEqual(
        outage.fates(acks, START, SECOND).drop("run", "producer"),
        spark.createDataFrame(
            [(5, "OK", "", 1), (1, "UNANSWERED", "", 1), (1, "X", "", 1)],
            "bucket int, outcome string, cause string, records long",
        ),
    )


def test_every_record_is_in_the_outcomes(spark: SparkSession) -> None:
    rows: list[dict[str, Any]] = [ack(i, i, MS) for i in range(5)]
    rows += [ack(5, 5, MS, result="TIMEOUT", cause="NOT_ENOUGH_RACKS"), ack(6, 6, MS, result="TIMEOUT")]
    rows += [ack(7, 7, None), ack(8, 8, MS, result="NOT_ENOUGH_RACKS")]
    acks = frame(spark, "acks", rows)
    want = [
        ("OK", "", 5),
        ("TIMEOUT", "NOT_ENOUGH_RACKS", 1),
        ("TIMEOUT", "", 1),
        ("UNANSWERED", "", 1),
        ("NOT_ENOUGH_RACKS", "", 1),
    ]
    got = outage.fates(acks, START, SECOND).drop("run", "producer", "bucket")
    assertDataFrameEqual(got, spark.createDataFrame(want, "outcome string, cause string, records long"))
    assert latency.acknowledged(acks).count() == 5


def test_the_wait_through_an_outage_is_latency_where_it_ends(spark: SparkSession) -> None:
    acks = frame(spark, "acks", [ack(i, i * MS, MS) for i in range(100)] + [ack(100, SECOND, 8 * SECOND)])
    got = {r["bucket"]: r for r in outage.latency_over_time(acks, START, SECOND).collect()}
    assert (got[0]["n"], got[0]["p50_us"], got[0]["max_us"]) == (100, 1000.0, 1000)
    assert (got[9]["n"], got[9]["p99_us"], got[9]["max_us"]) == (1, 8e6, 8_000_000)


def test_the_longest_silence_is_found_also_at_the_end(spark: SparkSession) -> None:
    middle = [ack(0, 0, MS), ack(1, 3 * SECOND, MS), ack(2, 4 * SECOND, MS)]
    end = [ack(0, 0, MS, producer="q"), ack(1, 5 * SECOND, None, producer="q")]
    got = {r["producer"]: r for r in outage.longest_silence(frame(spark, "acks", middle + end)).collect()}
    assert got["p"]["silence_ns"] == 3 * SECOND and got["p"]["from_ns"] == START + MS
    assert got["q"]["silence_ns"] == 5 * SECOND - MS and got["q"]["to_ns"] == START + 5 * SECOND


def test_a_producer_that_never_was_answered_was_silent_all_the_time(spark: SparkSession) -> None:
    acks = frame(spark, "acks", [ack(0, 0, None), ack(1, 2 * SECOND, None)])
    assert [r["silence_ns"] for r in outage.longest_silence(acks).collect()] == [2 * SECOND]


def test_answers_between_marks(spark: SparkSession) -> None:
    rows = [
        ack(0, 0, MS),
        ack(1, 2 * SECOND, MS, result="TIMEOUT", cause="NOT_ENOUGH_RACKS"),
        ack(2, 3 * SECOND, MS, result="NOT_ENOUGH_REPLICAS"),
        ack(3, 1 * SECOND, 5 * SECOND),
        ack(4, 9 * SECOND, MS, result="LATE"),
    ]
    marks = [START + SECOND, START + 3 * SECOND, START + 8 * SECOND]
    got = {(r["mark"], r["name"]): r for r in outage.answers_between(frame(spark, "acks", rows), marks).collect()}
    assert {key: (r["acknowledged"], r["records"]) for key, r in got.items()} == {
        (0, "NOT_ENOUGH_RACKS"): (False, 1),
        (1, "NOT_ENOUGH_REPLICAS"): (False, 1),
        (1, "OK"): (True, 1),
        (2, "LATE"): (False, 1),
    }, "the answer before the first mark belongs to none"
    assert got[0, "NOT_ENOUGH_RACKS"]["first_ns"] == START + 2 * SECOND + MS
    assert got[1, "OK"]["first_ns"] == got[1, "OK"]["last_ns"] == START + 6 * SECOND


def test_timeline_pairs_faults_and_leaves_an_open_one_to_the_end() -> None:
    events = [
        event(1 * SECOND, "fault", "rack_down a", "begin", nodes=["a1", "a2"]),
        event(2 * SECOND, "fault", "nodes_down", "begin", nodes=["b1", "b2"]),
        event(3 * SECOND, "fault", "rack_down a", "end", nodes=["a1", "a2"]),
        event(4 * SECOND, "config", "min.insync.racks", "point", topic="t", **{"from": 2, "to": 1}),
        event(5 * SECOND, "config", "min.insync.racks", "point", topic="t", to=2),
        event(6 * SECOND, "config", "min.insync.racks", "point", topic="other", to=3),
        event(7 * SECOND, "fault", "rack_down a healed", "point", nodes=["a1", "a2"]),
    ]
    line = timeline.build(events, START, START + 9 * SECOND)
    assert [(w["label"], w["begin_s"], w["end_s"]) for w in line.windows] == [
        ("rack a down", 1.0, 3.0),
        ("b1, b2 down", 2.0, 9.0),
    ]
    assert [m["label"] for m in line.marks] == [
        "start",
        "rack a down",
        "b1, b2 down",
        "rack a back",
        "min.insync.racks 2 → 1",
        "min.insync.racks 1 → 2",
        "min.insync.racks set to 3",
        "rack a healed",
    ]


def test_buckets_stay_readable() -> None:
    assert [timeline.bucket_seconds(s) for s in (1, 15, 60, 600)] == [0.1, 0.1, 0.5, 5.0]


def test_rare_outcomes_are_drawn_as_one_and_none_is_skipped() -> None:
    rows = [{"bucket": 0, "outcome": f"E{i}", "cause": "", "records": 10 - i} for i in range(8)]
    rows.append({"bucket": 0, "outcome": "OK", "cause": "", "records": 1})
    assert charts.fate_names(rows) == ["OK", "E0", "E1", "E2", "E3", "other outcomes"]
    assert charts.fate_names(rows[3:]) == ["OK", "E3", "E4", "E5", "E6", "E7"]
