"""Blocks of a benchmark: histograms, longest latency and longest silence of each, latency around a fault."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.statistics.counts import BITS
from spark_analysis.transforms.clock import CLOCK_OBSERVED, clock_observed, early, mono, shift
from spark_analysis.transforms.latency import is_acknowledged, outcome

BLOCK = ("run", "pair", "block", "mode", "role", "part")
LATENCY, SEND_LAG = "latency", "send_lag"


def bucket(value: Column) -> Column:
    """The middle of the log-linear bucket of a value from 0 on; small values are kept, but for fractions."""
    bits = F.greatest(F.floor(F.log2(F.greatest(value, F.lit(1)))) - BITS, F.lit(0)).cast("int")
    # The functions of the same name take only constants.
    low = F.call_function("shiftleft", F.call_function("shiftright", F.floor(value), bits), bits)
    return low + (F.call_function("shiftleft", F.lit(1), bits) - 1) / 2


def record_counts(inside: DataFrame, *, exact: bool) -> DataFrame:
    """Counts of records, all in one pass: measure, block, part, quarter, outcome, cause, value (µs), records,
    max_us, and CLOCK_OBSERVED. ``exact`` keeps every microsecond apart, else a bucket is one value.

    Measure latency has outcome and cause, the latency from the due time where it was acknowledged, and the longest of
    each value; measure send_lag, over all records that were tried, the quarter of the part and how late they were sent.
    """
    acked = outcome() == "OK"
    latency_us = F.when(acked, F.expr("(done_ns - due_ns) div 1000"))
    lag_us = F.expr("(sent_ns - due_ns) div 1000")
    measured = inside.select(
        *("block", "part", "quarter", "cause"),
        # Null where it went well: a key without text is counted in half the time.
        F.when(~acked, outcome()).alias("failed"),
        latency_us.alias("latency_us"),
        (latency_us.cast("double") if exact else bucket(latency_us)).alias("latency"),
        (lag_us.cast("double") if exact else bucket(lag_us)).alias("lag"),
        early().alias("early"),
        shift().alias("shift"),
    )
    sets = [["block", "part", "failed", "cause", "latency"], ["block", "part", "quarter", "lag"]]
    is_lag = F.grouping("latency") == 1
    return (
        measured.groupingSets(sets, *dict.fromkeys(sets[0] + sets[1]))
        .agg(
            F.count("*").alias("records"),
            F.max("latency_us").alias("max_us"),
            is_lag.alias("is_lag"),
            *clock_observed(),
        )
        .select(
            F.when(F.col("is_lag"), SEND_LAG).otherwise(LATENCY).alias("measure"),
            *("block", "part", "quarter"),
            F.when(~F.col("is_lag"), F.coalesce("failed", F.lit("OK"))).alias("outcome"),
            "cause",
            F.when(F.col("is_lag"), F.col("lag")).otherwise(F.col("latency")).alias("value"),
            "records",
            F.when(~F.col("is_lag"), F.col("max_us")).alias("max_us"),
            *CLOCK_OBSERVED,
        )
    )


def silences(acks: DataFrame, blocks: DataFrame) -> DataFrame:
    """The longest stretch without an acknowledgement inside each part of a block, from its begin to its end."""
    windows = F.broadcast(blocks.select(*BLOCK, "producer", "begin_mono_ns", "end_mono_ns"))
    answers = (
        acks.where(is_acknowledged())
        .withColumn("at_ns", mono("done_ns"))
        .join(windows, on=["run", "producer"], how="inner")
        .where((F.col("at_ns") >= F.col("begin_mono_ns")) & (F.col("at_ns") <= F.col("end_mono_ns")))
        .select(*BLOCK, "at_ns")
    )
    edges = blocks.select(*BLOCK, F.explode(F.array("begin_mono_ns", "end_mono_ns")).alias("at_ns"))
    order = Window.partitionBy(*BLOCK).orderBy("at_ns")
    return (
        answers.unionByName(edges)
        .withColumn("gap_ns", F.col("at_ns") - F.lag("at_ns").over(order))
        .groupBy(*BLOCK)
        .agg((F.max("gap_ns") / 1e9).alias("silence_s"))
        .select(*BLOCK, "silence_s")
    )


def overwritten(acks: DataFrame) -> DataFrame:
    """Per run and producer the acknowledged records whose place another acknowledged record has as well: of the records
    of a place all but one were lost, which an election without them leaves behind. Lost records whose place nobody
    was given again are not among them.
    """
    known = acks.where(is_acknowledged() & (F.col("offset") >= 0))
    places = known.groupBy("run", "producer", "topic", "partition", "offset").agg(F.countDistinct("seq").alias("times"))
    return places.where(F.col("times") > 1).groupBy("run", "producer").agg(F.sum(F.col("times") - 1).alias("lost"))


def around(acks: DataFrame, windows: DataFrame, width_ns: int) -> DataFrame:
    """Latency of acknowledged records by when they were due, from a moment on: median and maximum per bucket.

    ``windows`` has run, producer, pair, role, from_ns, until_ns, origin_ns, on the monotonic clock; bucket 0 begins at
    the origin.
    """
    due = F.col("due_mono_ns")
    return (
        acks.where(is_acknowledged())
        .join(F.broadcast(windows), on=["run", "producer"], how="inner")
        .where((due >= F.col("from_ns")) & (due < F.col("until_ns")))
        .withColumn("bucket", F.floor((due - F.col("origin_ns")) / F.lit(width_ns)).cast("int"))
        .withColumn("latency_us", (F.col("done_ns") - F.col("due_ns")) / 1000)
        .groupBy("run", "pair", "role", "bucket")
        .agg(F.percentile("latency_us", F.lit(0.5)).alias("p50_us"), F.max("latency_us").alias("max_us"))
        .select("run", "pair", "role", "bucket", "p50_us", "max_us")
    )
