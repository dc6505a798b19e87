"""Rules on acknowledgements and epochs: the metadata log has the leaders and in-sync replicas of every moment."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.checker.anomalies import anomaly
from spark_analysis.checker.history import PLACE, History

# A leader receives a change shortly after the controller has written it, and until then may rightly count a replica
# that just left; on a machine that stalls, "shortly" is seconds. Two clocks are compared, too.
SLACK_NS = 3_000_000_000


def stretches(history: History, min_racks: int | None = None) -> DataFrame:
    """The partitions rows with the time until which each was in force, and the racks and replicas required."""
    along = Window.partitionBy(*PLACE).orderBy("metadata_offset")
    until = F.coalesce(F.lead("t_ns").over(along), F.lit((1 << 63) - 1))
    racks = F.col("min_racks") if min_racks is None else F.lit(min_racks)
    least = F.least("min_replicas", "replicas")
    return history.partitions.withColumns({"until_ns": until, "need_racks": racks, "need_replicas": least})


def _acknowledged_within(history: History, bad: DataFrame) -> DataFrame:
    """Records of waiting producers whose sending and acknowledgement both lie within one of these stretches.

    Neighbouring stretches that are both bad are joined first, else an operation across their border would be missed.
    """
    along = Window.partitionBy(*PLACE).orderBy("metadata_offset")
    fresh = F.coalesce(F.col("t_ns") != F.lag("until_ns").over(along), F.lit(True)).cast("int")
    marked = bad.withColumn("fresh", fresh)
    joined = (
        marked.withColumn("island", F.sum("fresh").over(along.rowsBetween(Window.unboundedPreceding, 0)))
        .groupBy(*PLACE, "island")
        .agg(F.min("t_ns").alias("begin"), F.max("until_ns").alias("end"), F.max_by("isr", "t_ns").alias("isr"))
    )
    acknowledged = history.sent.where((F.col("result") == "OK") & F.col("waits"))
    within = (F.col("sent_ns") > F.col("begin") + SLACK_NS) & (F.col("done_ns") < F.col("end") - SLACK_NS)
    return acknowledged.join(F.broadcast(joined), PLACE, "inner").where(within)


def under_racks(history: History, min_racks: int | None = None) -> DataFrame:
    """Acknowledged while the in-sync replicas spanned fewer racks than required (or than `min_racks`)."""
    bad = stretches(history, min_racks).where(F.col("isr_racks") < F.col("need_racks"))
    found = _acknowledged_within(history, bad)
    return anomaly(found, "ack-under-racks", "the in-sync replicas were ", F.col("isr"))


def under_replicas(history: History) -> DataFrame:
    """Acknowledged while there were fewer in-sync replicas than required."""
    bad = stretches(history).where(F.col("isr_size") < F.col("need_replicas"))
    found = _acknowledged_within(history, bad)
    return anomaly(found, "ack-under-replicas", "the in-sync replicas were ", F.col("isr"))


def epochs(history: History) -> DataFrame:
    """A leader epoch in the metadata log that is smaller than one before it."""
    before = Window.partitionBy(*PLACE).orderBy("metadata_offset").rowsBetween(Window.unboundedPreceding, -1)
    log = history.partitions.withColumn("highest", F.max("leader_epoch").over(before))
    back = log.where(F.col("leader_epoch") < F.col("highest"))
    detail = ("epoch ", F.col("leader_epoch"), " behind ", F.col("highest"), " at offset ", F.col("metadata_offset"))
    return anomaly(back, "epoch-went-back", *detail, " of the metadata log", producer=None)


def unknown_epochs(history: History) -> DataFrame:
    """Records of an epoch in which nobody led, as far as the metadata log goes."""
    known = history.partitions.select(*PLACE, "leader_epoch").distinct()
    places = known.select(*PLACE).distinct()
    log = history.spots.join(F.broadcast(places), PLACE, "left_semi")
    stray = log.join(F.broadcast(known), [*PLACE, "leader_epoch"], "left_anti")
    stray = stray.select(*PLACE, "offset", "leader_epoch", "producer", "seq").distinct()
    return anomaly(stray, "unknown-epoch", "epoch ", F.col("leader_epoch"))
