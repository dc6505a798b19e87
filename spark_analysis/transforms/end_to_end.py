"""Latency from the due time of a record until a consumer in the same process received it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def counted(inside: DataFrame, polls: DataFrame) -> DataFrame:
    """Records of each part of a block by latency in µs, rounded down; those that no consumer received are skipped."""
    observed = polls.groupBy("run", "producer", "seq").agg(F.min("read_ns").alias("read_ns"))
    return (
        inside.join(observed, on=["run", "producer", "seq"], how="inner")
        .withColumn("value", F.floor((F.col("read_ns") - F.col("due_ns")) / 1000).cast("double"))
        .groupBy("block", "part", "value")
        .agg(F.count("*").alias("records"))
        .select("block", "part", "value", "records")
    )
