"""Rules on the logs of replicas: each log by itself, and against the others."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_analysis.checker.anomalies import anomaly
from spark_analysis.checker.history import PLACE, History, nodes_sum

_OFFSET = [*PLACE, "offset"]


def divergent(history: History) -> DataFrame:
    """An offset that not every replica has, or has with the same bytes and epoch."""
    wanted = history.expected.groupBy(*PLACE).agg(F.count("*").alias("wanted"), nodes_sum().alias("right"))
    observed = history.spots.groupBy(*_OFFSET).agg(
        F.sum("copies").alias("copies"),
        F.sum("holders").alias("holders"),
        (F.count("*") + F.count_if(~F.col("same"))).alias("contents"),
        F.max("producer").alias("producer"),
        F.max("seq").alias("seq"),
    )
    odd = observed.join(F.broadcast(wanted), PLACE, "inner")
    others = (F.col("copies") == F.col("wanted")) & (F.col("holders") != F.col("right"))
    odd = odd.where((F.col("copies") < F.col("wanted")) | others | (F.col("contents") > 1))
    return anomaly(
        odd, "divergent-replicas", F.col("contents"), " contents, ", F.col("copies"), " of ", F.col("wanted"), " copies"
    )


def clashing(history: History) -> DataFrame:
    """Two records of one offset in one replica."""
    twice = history.steps.where(F.col("before") == F.col("offset"))
    return anomaly(twice, "offset-clash", "again on ", F.col("node"), producer=None)


def gaps(history: History) -> DataFrame:
    """Offsets that a replica lacks between two that it has, or before the end that it was read to."""
    holes = history.steps.where(F.col("after") > F.col("offset") + 1)
    return anomaly(holes, "offset-gap", F.col("node"), " has nothing up to offset ", F.col("after"), producer=None)


def epochs(history: History) -> DataFrame:
    """A smaller leader epoch behind a larger one."""
    back = history.steps.where(F.col("leader_epoch") < F.col("highest"))
    return anomaly(
        back, "epoch-went-back", "epoch ", F.col("leader_epoch"), " behind ", F.col("highest"), " on ", F.col("node")
    )
