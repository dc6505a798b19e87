"""Latency of acknowledged records from their due time, and outcomes of all records."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_analysis.statistics.counts import MIN_EXCEEDANCES, QUANTILES, UNANSWERED


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


def quantiles(
    acked: DataFrame, by: Sequence[str], *, value: str = "latency_us", per_thousand: Sequence[float] = QUANTILES
) -> DataFrame:
    """Exact quantiles (linear between ranks, as numpy's default), one row per group and quantile.

    ``value_us`` is null where the sample does not carry the quantile. Counting equal values first makes the exact
    computation cheaper than on single records.
    """
    requested = [q / 1000 for q in per_thousand]
    rows = (
        acked.groupBy(*by, value)
        .agg(F.count("*").alias("times"))
        .groupBy(*by)
        .agg(
            F.sum("times").alias("n"),
            F.percentile(F.col(value), F.array(*[F.lit(q) for q in requested]), F.col("times")).alias("found"),
        )
        .withColumn("requested", F.array(*[F.lit(float(q)) for q in per_thousand]))
        .select(*by, "n", F.explode(F.arrays_zip("requested", "found")).alias("both"))
    )
    # Rounded, so that the sample rule is arithmetic of integers; a quantile has one decimal at most.
    enough = F.col("n") * F.round((1000 - F.col("per_thousand")) * 10) >= MIN_EXCEEDANCES * 10_000
    return (
        rows.withColumn("per_thousand", F.col("both.requested"))
        .withColumn("value_us", F.when(enough, F.col("both.found")))
        .select(*by, "per_thousand", "n", "value_us")
    )
