"""Replicas' logs against each other and in themselves."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.checker.anomalies import anomaly
from spark_analysis.checker.history import History
from spark_analysis.checker.writes import PLACE

_OFFSET = [*PLACE, "offset"]
_SAME = ("value_crc", "batch_crc", "leader_epoch", "producer", "seq", "timestamp_ms", "control")


def divergent(history: History) -> DataFrame:
    """An offset that not every replica has, or has with the same bytes and epoch."""
    wanted = history.expected.groupBy(*PLACE).agg(F.count("*").alias("wanted"), F.collect_set("node").alias("all"))
    content = F.struct(*(F.col(name) for name in _SAME))
    seen = history.replicas.groupBy(*_OFFSET).agg(
        F.countDistinct("node").alias("copies"),
        F.countDistinct(content).alias("contents"),
        F.collect_set("node").alias("nodes"),
        F.max("producer").alias("producer"),
        F.max("seq").alias("seq"),
    )
    odd = seen.join(F.broadcast(wanted), PLACE, "inner")
    odd = odd.where((F.col("copies") < F.col("wanted")) | (F.col("contents") > 1))
    lacking = F.concat_ws(",", F.sort_array(F.array_except("all", "nodes")))
    return anomaly(odd, "divergent-replicas", F.col("contents"), " contents; missing on [", lacking, "]")


def clashing(history: History) -> DataFrame:
    """Two records of one offset in one replica."""
    twice = history.replicas.groupBy("node", *_OFFSET).count().where(F.col("count") > 1)
    return anomaly(twice, "offset-clash", F.col("count"), " records on ", F.col("node"), producer=None)


def gaps(history: History) -> DataFrame:
    """Offsets that a replica lacks between two that it has, or before the end that it was read to."""
    along = Window.partitionBy("node", *PLACE).orderBy("offset")
    ends = history.expected.select("node", *PLACE, "end_offset")
    steps = history.replicas.select("node", *_OFFSET).distinct()
    steps = steps.withColumn("next", F.lead("offset").over(along)).join(F.broadcast(ends), ["node", *PLACE], "left")
    steps = steps.withColumn("next", F.coalesce("next", "end_offset"))
    holes = steps.where(F.col("next") > F.col("offset") + 1)
    return anomaly(holes, "offset-gap", F.col("node"), " has nothing up to offset ", F.col("next"), producer=None)


def epochs(history: History) -> DataFrame:
    """A smaller leader epoch behind a larger one."""
    before = Window.partitionBy("node", *PLACE).orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    log = history.replicas.withColumn("highest", F.max("leader_epoch").over(before))
    back = log.where(F.col("leader_epoch") < F.col("highest"))
    return anomaly(
        back, "epoch-went-back", "epoch ", F.col("leader_epoch"), " behind ", F.col("highest"), " on ", F.col("node")
    )
