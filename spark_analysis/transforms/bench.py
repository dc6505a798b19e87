"""Blocks of a benchmark: histograms, longest latency and longest silence of each, latency around a fault."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.transforms.latency import outcome

BLOCK = ("run", "pair", "block", "mode", "role", "part")
# Values in buckets are kept to 1 part in 2**8: the middle of a bucket is within 0.2 % of what it stands for.
BITS = 8


def bucket(value: str) -> Column:
    """The middle of the log-linear bucket that a value from 0 on falls into; small values are kept as they are."""
    width = F.pow(F.lit(2.0), F.greatest(F.floor(F.log2(F.greatest(F.col(value), F.lit(1)))) - BITS, F.lit(0)))
    low = F.floor(F.col(value) / width) * width
    return low + (width - 1) / 2


def counted(inside: DataFrame, *, exact: bool) -> DataFrame:
    """Records of each part of a block by outcome, cause and latency (µs from the due time; null: not acknowledged), and
    the longest latency among them. ``exact`` keeps every microsecond apart, else a bucket is one value.
    """
    told = inside.withColumn("outcome", outcome())
    latency_us = F.floor((F.col("done_ns") - F.col("due_ns")) / 1000)
    told = told.withColumn("latency_us", F.when(F.col("outcome") == "OK", latency_us))
    value = F.col("latency_us").cast("double") if exact else bucket("latency_us")
    return (
        told.withColumn("value", F.when(F.col("latency_us").isNotNull(), value))
        .groupBy("block", "part", "outcome", "cause", "value")
        .agg(F.count("*").alias("records"), F.max("latency_us").alias("max_us"))
        .select("block", "part", "outcome", "cause", "value", "records", "max_us")
    )


def histogram(values: DataFrame, by: Sequence[str], value: str) -> DataFrame:
    """Records by group and bucket: merging groups is adding rows."""
    return (
        values.withColumn("value", bucket(value))
        .groupBy(*by, "value")
        .agg(F.count("*").alias("records"))
        .select(*by, "value", "records")
    )


def send_lag(inside: DataFrame) -> DataFrame:
    """How late the load client was in each part of a block: p99 over all records that were tried, in whole µs, and by
    how much its median grew from the first quarter to the last: then it sends later and later than it should.
    """
    late = inside.withColumn("lag_us", F.floor((F.col("sent_ns") - F.col("due_ns")) / 1000))
    return (
        late.groupBy("block", "part", "quarter", "lag_us")
        .agg(F.count("*").alias("times"))
        .groupBy("block", "part")
        .agg(
            F.sum("times").alias("records"),
            F.percentile("lag_us", F.lit(0.99), F.col("times")).alias("lag_p99_us"),
            (_median_of(3) - _median_of(0)).alias("lag_grew_us"),
        )
        .select("block", "part", "records", "lag_p99_us", "lag_grew_us")
    )


def _median_of(quarter: int) -> Column:
    return F.percentile(F.when(F.col("quarter") == quarter, F.col("lag_us")), F.lit(0.5), F.col("times"))


def silences(acks: DataFrame, blocks: DataFrame) -> DataFrame:
    """The longest stretch without an acknowledgement inside each part of a block, from its begin to its end."""
    windows = F.broadcast(blocks.select(*BLOCK, "producer", "begin_ns", "end_ns"))
    answers = (
        acks.where((F.col("result") == "OK") & (F.col("done_ns") > 0))
        .join(windows, on=["run", "producer"], how="inner")
        .where((F.col("done_ns") >= F.col("begin_ns")) & (F.col("done_ns") <= F.col("end_ns")))
        .select(*BLOCK, F.col("done_ns").alias("at_ns"))
    )
    edges = blocks.select(*BLOCK, F.explode(F.array("begin_ns", "end_ns")).alias("at_ns"))
    order = Window.partitionBy(*BLOCK).orderBy("at_ns")
    return (
        answers.unionByName(edges)
        .withColumn("gap_ns", F.col("at_ns") - F.lag("at_ns").over(order))
        .groupBy(*BLOCK)
        .agg((F.max("gap_ns") / 1e9).alias("silence_s"))
        .select(*BLOCK, "silence_s")
    )


def around(acks: DataFrame, windows: DataFrame, width_ns: int) -> DataFrame:
    """Latency of acknowledged records by when they were due, from a moment on: median and maximum per bucket.

    ``windows`` has run, producer, role, from_ns, until_ns, origin_ns; bucket 0 begins at the origin.
    """
    due = F.col("due_ns")
    return (
        acks.where((F.col("result") == "OK") & (F.col("done_ns") > 0))
        .join(F.broadcast(windows), on=["run", "producer"], how="inner")
        .where((due >= F.col("from_ns")) & (due < F.col("until_ns")))
        .withColumn("bucket", F.floor((due - F.col("origin_ns")) / F.lit(width_ns)).cast("int"))
        .withColumn("latency_us", (F.col("done_ns") - due) / 1000)
        .groupBy("run", "role", "bucket")
        .agg(F.percentile("latency_us", F.lit(0.5)).alias("p50_us"), F.max("latency_us").alias("max_us"))
        .select("run", "role", "bucket", "p50_us", "max_us")
    )
