"""Planted faults of a history are found, and a clean one has none."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from spark_analysis.report.durability import short_reads
from spark_analysis.tests.generated import MS, ack, frame, read
from spark_analysis.transforms import durability

_COUNTS = ["lost", "duplicates", "moved", "present_though_not_acknowledged"]


def evaluated(
    spark: SparkSession, acks: list[dict[str, Any]], reads: list[dict[str, Any]]
) -> tuple[DataFrame, list[int]]:
    fates = durability.fates(frame(spark, "acks", acks), frame(spark, "reads", reads), ["t"])
    (row,) = durability.summary(fates).collect()
    return fates, [row[name] for name in _COUNTS]


def clean(n: int = 50) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return [ack(i, i * MS, MS) for i in range(n)], [read(i) for i in range(n)]


def test_a_clean_history_has_no_fault(spark: SparkSession) -> None:
    acks, reads = clean()
    assert evaluated(spark, acks, reads)[1] == [0, 0, 0, 0]
    assert durability.reordered(frame(spark, "reads", reads)).count() == 0
    assert durability.phantoms(frame(spark, "reads", reads), frame(spark, "acks", acks)).count() == 0


def test_a_lost_record_is_found_and_named(spark: SparkSession) -> None:
    acks, reads = clean()
    del reads[17]
    fates, counts = evaluated(spark, acks, reads)
    assert counts == [1, 0, 0, 0]
    assertDataFrameEqual(
        durability.lost(fates).select("producer", "seq", "partition", "offset"),
        spark.createDataFrame([("p", 17, 0, 17)], "producer string, seq long, partition int, offset long"),
    )


def test_a_copy_counts_once_each(spark: SparkSession) -> None:
    acks, reads = clean()
    reads += [read(3, offset=50), read(3, offset=51), read(4, offset=52)]
    assert evaluated(spark, acks, reads)[1] == [0, 3, 0, 0]
    assert durability.reordered(frame(spark, "reads", reads)).count() == 0, "a copy is no reordering"


def test_a_record_at_another_offset_is_moved_not_lost(spark: SparkSession) -> None:
    acks, reads = clean()
    reads[5]["offset"] = 500
    assert evaluated(spark, acks, reads)[1] == [0, 0, 1, 0]


def test_a_record_that_was_not_acknowledged_may_be_there(spark: SparkSession) -> None:
    acks, reads = clean()
    acks[7] = ack(7, 7 * MS, MS, result="TIMEOUT")
    acks[8] = ack(8, 8 * MS, None)
    del reads[8]
    assert evaluated(spark, acks, reads)[1] == [0, 0, 0, 1]


def test_swapped_records_are_reordered(spark: SparkSession) -> None:
    _, reads = clean()
    reads[10]["seq"], reads[11]["seq"] = 11, 10
    assert [r["reordered"] for r in durability.reordered(frame(spark, "reads", reads)).collect()] == [1]


def test_another_partition_is_no_reordering(spark: SparkSession) -> None:
    reads = [read(i, partition=i % 2, offset=i // 2) for i in range(10)]
    assert durability.reordered(frame(spark, "reads", reads)).count() == 0


def test_what_nobody_sent_is_a_phantom_but_foreign_records_are_not(spark: SparkSession) -> None:
    acks, reads = clean()
    reads += [read(99, offset=60), read(-1, offset=61, producer="")]
    found = durability.phantoms(frame(spark, "reads", reads), frame(spark, "acks", acks)).collect()
    assert [r["seq"] for r in found] == [99]


def test_a_record_of_another_topic_does_not_stand_in_for_a_lost_one_of_the_same_producer(spark: SparkSession) -> None:
    acks, reads = clean()
    del reads[17]
    acks += [ack(i, i * MS, MS, topic="u") for i in range(50)]
    reads += [read(i, topic="u") for i in range(50)]
    fates = durability.fates(frame(spark, "acks", acks), frame(spark, "reads", reads), ["t", "u"])
    (row,) = durability.summary(fates).collect()
    assert [row[name] for name in _COUNTS] == [1, 0, 0, 0]
    assert [(r["topic"], r["seq"]) for r in durability.lost(fates).collect()] == [("t", 17)]
    assert durability.reordered(frame(spark, "reads", reads)).count() == 0


def test_a_topic_that_was_not_read_is_not_evaluated(spark: SparkSession) -> None:
    acks, _ = clean()
    other = [ack(i, i, MS, topic="unread", producer="q") for i in range(3)]
    fates = durability.fates(frame(spark, "acks", acks + other), frame(spark, "reads", []), ["t"])
    assert {r["producer"]: r["lost"] for r in durability.summary(fates).collect()} == {"p": 50}


def test_where_nothing_was_read_to_its_end_nothing_is_evaluated(spark: SparkSession) -> None:
    acks, reads = clean()
    fates = durability.fates(frame(spark, "acks", acks), frame(spark, "reads", reads), [])
    assert durability.summary(fates).collect() == []


def test_a_read_that_stopped_short_is_noticed(spark: SparkSession) -> None:
    last = [r.asDict() for r in durability.last_read(frame(spark, "reads", clean(10)[1])).collect()]
    ends = {"t": {"end_offsets": {"0": 10, "1": 4, "2": 0}}, "u": {"end_offsets": {"0": 1}}}
    short = short_reads(ends, last)
    assert [(r["topic"], r["partition"], r["last"]) for r in short] == [("t", 1, None), ("u", 0, None)]
    (longer,) = short_reads({"t": {"end_offsets": {"0": 11}}}, last)
    assert (longer["end_offset"], longer["last"]) == (11, 9)
