"""Latency of acknowledged records from their due time, and outcomes of all records."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_analysis.statistics.counts import UNANSWERED


def outcome() -> Column:
    """The result, with a name for no answer."""
    return F.when(F.col("done_ns") == 0, F.lit(UNANSWERED)).otherwise(F.col("result"))


def is_acknowledged() -> Column:
    """True for a record with an acknowledgement."""
    return (F.col("result") == "OK") & (F.col("done_ns") > 0)


def in_blocks(acks: DataFrame, blocks: DataFrame) -> DataFrame:
    """The records that were due inside a block, with its mode, role, block, pair and part, and the quarter (0 to 3) of
    the part in which they were due, by the monotonic clock. Warm-up is dropped here.
    """
    due, begin, end = F.col("due_mono_ns"), F.col("begin_mono_ns"), F.col("end_mono_ns")
    # A record is compared only with the windows of its own second, however many there are.
    seconds = F.sequence(_second(begin), _second(end - 1))
    windows = blocks.where(end > begin).withColumn("second", F.explode(seconds))
    return (
        acks.withColumn("second", _second(due))
        .join(F.broadcast(windows), on=["run", "producer", "second"], how="inner")
        .where((due >= begin) & (due < end))
        .withColumn("quarter", F.floor(4 * ((due - begin) / (end - begin))))
        .select(*acks.columns, "mode", "role", "block", "pair", "part", "quarter")
    )


def _second(ns: Column) -> Column:
    return F.floor(ns / F.lit(1e9)).cast("long")


def acknowledged(acks: DataFrame) -> DataFrame:
    """Acknowledged records with latency_us (from the due time) and lag_us (the send lag)."""
    return (
        acks.where(is_acknowledged())
        .withColumn("latency_us", F.floor((F.col("done_ns") - F.col("due_ns")) / 1000))
        .withColumn("lag_us", F.floor((F.col("sent_ns") - F.col("due_ns")) / 1000))
    )
