"""Acknowledged records against the records read back."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.transforms.latency import is_acknowledged

# Two producers of one name may write to two topics.
KEY = ["run", "producer", "seq", "topic"]


def fates(acks: DataFrame, reads: DataFrame, read_topics: Sequence[str]) -> DataFrame:
    """One row per sent record of a topic that was read to its end (``read_topics``).

    ``times`` is how often it was read, ``moved`` is true if it was read at another place than acknowledged.
    """
    found = (
        reads.where(F.col("seq") >= 0)
        .groupBy(*KEY)
        .agg(
            F.count("*").alias("times"),
            F.collect_set(F.struct("partition", "offset")).alias("places"),
        )
    )
    checked = acks.where(F.col("topic").isin(*read_topics))
    place = F.struct("partition", "offset")
    return (
        checked.join(found, on=KEY, how="left")
        .withColumn("acked", is_acknowledged())
        .withColumn("times", F.coalesce("times", F.lit(0)))
        .withColumn(
            "moved", F.col("acked") & (F.col("offset") >= 0) & (F.col("times") > 0) & ~F.array_contains("places", place)
        )
        .select(*KEY, "partition", "offset", "due_ns", "result", "cause", "acked", "times", "moved")
    )


def summary(record_fates: DataFrame) -> DataFrame:
    """Per run and producer: acknowledged, lost, duplicates, moved, and records read though never acknowledged."""
    acked = F.col("acked")
    return (
        record_fates.groupBy("run", "producer")
        .agg(
            F.count("*").alias("sent"),
            F.count(F.when(acked, 1)).alias("acknowledged"),
            F.count(F.when(acked & (F.col("times") == 0), 1)).alias("lost"),
            F.coalesce(F.sum(F.when(F.col("times") > 1, F.col("times") - 1)), F.lit(0)).alias("duplicates"),
            F.count(F.when(F.col("moved"), 1)).alias("moved"),
            F.count(F.when(~acked, 1)).alias("not_acknowledged"),
            F.count(F.when(~acked & (F.col("times") > 0), 1)).alias("present_though_not_acknowledged"),
        )
        .select(
            "run",
            "producer",
            "sent",
            "acknowledged",
            "lost",
            "duplicates",
            "moved",
            "not_acknowledged",
            "present_though_not_acknowledged",
        )
    )


def lost(record_fates: DataFrame) -> DataFrame:
    """The acknowledged records that could not be read back."""
    return record_fates.where(F.col("acked") & (F.col("times") == 0)).select(*KEY, "partition", "offset", "due_ns")


def phantoms(reads: DataFrame, acks: DataFrame) -> DataFrame:
    """Records of a load client that were read but that the run has no record of sending."""
    return reads.where(F.col("seq") >= 0).join(acks.select(*KEY), on=KEY, how="left_anti")


def reordered(reads: DataFrame) -> DataFrame:
    """Per run and producer how many records stand behind a later one of the same producer and partition.

    Copies of a record count as duplicates, not as reordering: only the first copy is looked at.
    """
    first = reads.where(F.col("seq") >= 0).groupBy(*KEY, "partition").agg(F.min("offset").alias("offset"))
    before = (
        Window.partitionBy("run", "producer", "topic", "partition")
        .orderBy("offset")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    return (
        first.withColumn("highest", F.max("seq").over(before))
        .where(F.col("seq") < F.col("highest"))
        .groupBy("run", "producer")
        .agg(F.count("*").alias("reordered"))
        .select("run", "producer", "reordered")
    )


def last_read(reads: DataFrame) -> DataFrame:
    """The last offset that was read of each partition."""
    return reads.groupBy("topic", "partition").agg(F.max("offset").alias("last"))
