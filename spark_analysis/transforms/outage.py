"""An outage over time: what became of the records and when, the latency of acknowledgements, and the silences."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.transforms.latency import acknowledged, is_acknowledged, outcome


def bucket(column: str, origin_ns: int, width_ns: int) -> Column:
    """Number of the time bucket since the origin."""
    return F.floor((F.col(column) - F.lit(origin_ns)) / F.lit(width_ns)).cast("int")


def fates(acks: DataFrame, origin_ns: int, width_ns: int) -> DataFrame:
    """Records by the bucket of their answer, else of their due time: one row per run, producer, bucket,
    outcome and cause.
    """
    at = F.when(F.col("done_ns") > 0, F.col("done_ns")).otherwise(F.col("due_ns"))
    return (
        acks.withColumn("at_ns", at)
        .withColumn("bucket", bucket("at_ns", origin_ns, width_ns))
        .withColumn("outcome", outcome())
        .groupBy("run", "producer", "bucket", "outcome", "cause")
        .agg(F.count("*").alias("records"))
        .select("run", "producer", "bucket", "outcome", "cause", "records")
    )


def latency_over_time(acks: DataFrame, origin_ns: int, width_ns: int) -> DataFrame:
    """Exact p50, p99 and maximum of the latency of acknowledged records, by the bucket of their acknowledgement."""
    return (
        acknowledged(acks)
        .withColumn("bucket", bucket("done_ns", origin_ns, width_ns))
        .groupBy("run", "bucket")
        .agg(
            F.count("*").alias("n"),
            F.percentile("latency_us", F.lit(0.5)).alias("p50_us"),
            F.percentile("latency_us", F.lit(0.99)).alias("p99_us"),
            F.max("latency_us").alias("max_us"),
        )
        .select("run", "bucket", "n", "p50_us", "p99_us", "max_us")
    )


def longest_silence(acks: DataFrame) -> DataFrame:
    """Per run and producer the longest stretch in which no acknowledgement came, while something was due.

    Counted from the producer's first due time to its last answer or due time, so that a silence at either end shows.
    """
    span = acks.groupBy("run", "producer").agg(
        F.min("due_ns").alias("first_ns"),
        F.greatest(F.max("due_ns"), F.max("done_ns")).alias("last_ns"),
    )
    marks = (
        acks.where(is_acknowledged())
        .select("run", "producer", F.col("done_ns").alias("at_ns"))
        .unionByName(span.select("run", "producer", F.col("first_ns").alias("at_ns")))
        .unionByName(span.select("run", "producer", F.col("last_ns").alias("at_ns")))
    )
    order = Window.partitionBy("run", "producer").orderBy("at_ns")
    return (
        marks.withColumn("before_ns", F.lag("at_ns").over(order))
        .where(F.col("before_ns").isNotNull())
        .withColumn("silence_ns", F.col("at_ns") - F.col("before_ns"))
        .groupBy("run", "producer")
        .agg(
            F.max("silence_ns").alias("silence_ns"),
            F.max_by("before_ns", "silence_ns").alias("from_ns"),
            F.max_by("at_ns", "silence_ns").alias("to_ns"),
        )
        .select("run", "producer", "silence_ns", "from_ns", "to_ns")
    )


def answers_between(acks: DataFrame, marks_ns: Sequence[int]) -> DataFrame:
    """Answers by the last mark before them (its number; ascending times) and by name: records, first and last.

    An acknowledgement is named OK; a refusal by its cause where there is one (a batch given up after refusals), else by
    its result. Answers before the first mark are skipped.
    """
    done = F.col("done_ns")
    # A search in a list costs no job; a join with the marks would cost two.
    passed = F.filter(F.array(*[F.lit(t) for t in marks_ns]), lambda mark: mark <= done)
    name = F.when(is_acknowledged(), F.lit("OK")).when(F.col("cause") != "", F.col("cause")).otherwise(F.col("result"))
    return (
        acks.where(done > 0)
        .select(
            (F.size(passed) - 1).alias("mark"), is_acknowledged().alias("acknowledged"), name.alias("name"), "done_ns"
        )
        .where(F.col("mark") >= 0)
        .groupBy("mark", "acknowledged", "name")
        .agg(F.count("*").alias("records"), F.min("done_ns").alias("first_ns"), F.max("done_ns").alias("last_ns"))
    )
