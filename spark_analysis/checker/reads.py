"""Rules on the records and high watermarks that consumers received during the run."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.checker.anomalies import anomaly
from spark_analysis.checker.history import PLACE, RECORD, History


def went_back(history: History) -> DataFrame:
    """A consumer's position that did not rise."""
    back = history.turns.where(F.col("offset") <= F.col("highest"))
    return anomaly(back, "nonmonotonic-poll", F.col("consumer"), " had been at offset ", F.col("highest"))


def skipped(history: History) -> DataFrame:
    """Records of the final log that lie between two that a consumer received one after the other."""
    steps = history.turns.where(F.col("offset") > F.col("before") + 1)
    steps = steps.select("consumer", *PLACE, "before", F.col("offset").alias("after"))
    passed = history.places.drop("due_ns").join(F.broadcast(steps), PLACE, "inner")
    passed = passed.where((F.col("offset") > F.col("before")) & (F.col("offset") < F.col("after"))).distinct()
    detail = (F.col("consumer"), " went from offset ", F.col("before"), " to ", F.col("after"))
    return anomaly(passed, "poll-skip", *detail)


def vanished(history: History) -> DataFrame:
    """Records that a consumer received and that the final log does not have at that offset."""
    read = history.expected.select(*PLACE).distinct()
    polls = history.polls.join(F.broadcast(read), PLACE, "left_semi")
    gone = polls.join(history.spots, [*PLACE, "offset", *RECORD], "left_anti")
    return anomaly(gone, "vanished-read", F.col("consumer"), " received it")


def watermarks(history: History) -> DataFrame:
    """A high watermark below one that was observed before, reported by a leader of the same or a later epoch.

    An older leader that does not know its successor yet may report less; that is no fault. A new leader must report
    none until it is beyond the start of its epoch (KIP-207), but Apache Kafka reads it twice and may report the first
    value: allowed.
    """
    along = Window.partitionBy("observer", *PLACE).orderBy("number").rowsBetween(Window.unboundedPreceding, -1)
    observed = history.watermarks.withColumn("best", F.max(F.struct("high_watermark", "leader_epoch")).over(along))
    back = observed.where(
        (F.col("high_watermark") < F.col("best.high_watermark")) & (F.col("leader_epoch") >= F.col("best.leader_epoch"))
    )
    begins = history.begins.withColumnRenamed("leader_epoch", "of").drop("end")
    begin = F.min(F.when(F.col("of") >= F.col("leader_epoch"), F.col("begin")))
    columns = ["observer", "number", *PLACE, "high_watermark", "leader_epoch", "best"]
    back = back.join(begins, PLACE, "left").groupBy(*columns).agg(begin.alias("begin"))
    new = F.col("leader_epoch") > F.col("best.leader_epoch")
    allowed = new & F.coalesce(F.col("high_watermark") < F.col("begin"), F.lit(False))
    back = back.withColumn("offset", F.col("high_watermark"))
    detail = (
        F.col("best.high_watermark"),
        " before, now ",
        F.col("high_watermark"),
        " at epoch ",
        F.col("leader_epoch"),
    )
    return anomaly(back, "watermark-went-back", *detail, producer=None, allowed=allowed)


def below_watermark(history: History) -> DataFrame:
    """Offsets below a high watermark that the log has from a later leader than the one that reported it, or lacks.

    What is below a high watermark is committed: every later leader has it. An answer without an epoch says nothing.
    """
    observed = history.watermarks.where("leader_epoch >= 0").groupBy(*PLACE, F.col("leader_epoch").alias("of"))
    best = observed.agg(F.max("high_watermark").alias("high_watermark"))
    later = F.when(F.col("leader_epoch") > F.col("of"), F.col("begin"))
    log = best.join(history.begins, PLACE, "left").groupBy(*PLACE, "of", "high_watermark")
    gone = log.agg(F.least(F.min(later), F.coalesce(F.max("end"), F.lit(0))).alias("offset"))
    gone = gone.where(F.col("offset") < F.col("high_watermark"))
    detail = ("the leader of epoch ", F.col("of"), " had reported a high watermark of ", F.col("high_watermark"))
    return anomaly(gone, "lost-below-watermark", *detail, producer=None)
