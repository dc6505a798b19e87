"""Rules on records sent against the logs: lost, refused but present, duplicated, moved, reordered, corrupt."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.checker.anomalies import anomaly
from spark_analysis.checker.history import PLACE, RECORD, History

# Errors that mean that the record was not appended. After any other error it may be in the log.
REFUSED = (
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_RACKS",
    "INCONSISTENT_REPLICA_CONFIGURATION",
    "RECORD_TOO_LARGE",
    "INVALID_REQUIRED_ACKS",
)


def lost(history: History) -> DataFrame:
    """Acknowledged and in no log. Without waiting for other replicas (acks 0 and 1) that is allowed.

    Records of acks=min.insync.replicas have a rule of their own.
    """
    gone = history.fates.where((F.col("result") == "OK") & F.col("at").isNull() & ~F.col("quorum"))
    return anomaly(gone, "lost-write", "acknowledged for offset ", F.col("offset"), allowed=~F.col("waits"))


def aborted(history: History) -> DataFrame:
    """Refused before it could be appended, by a producer that does not retry, and yet in the log."""
    there = history.fates.where(F.col("final") & F.col("result").isin(*REFUSED) & F.col("at").isNotNull())
    return anomaly(there, "aborted-write", "its producer received ", F.col("result"))


def moved(history: History) -> DataFrame:
    """Acknowledged for a place where it is not, though it is elsewhere."""
    there = history.scattered.where((F.col("result") == "OK") & (F.col("offset") >= 0) & (F.col("right") == 0))
    return anomaly(there, "inconsistent-offsets", "it is at ", F.to_json("found"))


def duplicated(history: History) -> DataFrame:
    """In the log at more than one place; allowed to a producer without idempotence, which retries on errors."""
    often = history.scattered.where(F.size("found") > 1)
    return anomaly(often, "duplicate", "it is at ", F.to_json("found"), allowed=~F.coalesce("once", F.lit(True)))


def reordered(history: History) -> DataFrame:
    """Behind a later record of its producer in the same partition; only first places count.

    Allowed to a producer without idempotence for records that it retries or gave up on: the broker still reads the
    requests of a connection that the producer closed while it reads those of the next one.
    """
    first = history.places.where("seq >= 0").groupBy(*PLACE, *RECORD).agg(F.min("offset").alias("offset"))
    before = Window.partitionBy(*PLACE, "producer").orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    late = first.withColumn("ahead", F.max("seq").over(before)).where(F.col("ahead") > F.col("seq"))
    given_up = history.sent.where(F.col("final") & (F.col("result") != "OK")).select(*RECORD, "final")
    late = late.join(F.broadcast(history.producers.select("producer", "once")), "producer", "left")
    late = late.join(given_up, RECORD, "left")
    allowed = ~F.coalesce("once", F.lit(True)) | F.coalesce("final", F.lit(False))
    return anomaly(late, "nonmonotonic-send", "record ", F.col("ahead"), " is before it", allowed=allowed)


def realtime(history: History) -> DataFrame:
    """Sent after another of the partition was acknowledged, and yet at a smaller offset."""
    shift = F.col("due_mono_ns") - F.col("due_ns")  # the clients' shared monotonic clock: epochs may be set meanwhile
    acknowledged = history.fates.where((F.col("result") == "OK") & F.col("here"))
    acknowledged = acknowledged.select(
        *RECORD, *PLACE, "offset", (F.col("sent_ns") + shift).alias("at"), (F.col("done_ns") + shift).alias("by")
    )
    # From the log's end: a growing frame is one pass, a shrinking one is computed again for each row.
    behind = Window.partitionBy(*PLACE).orderBy(F.desc("offset")).rowsBetween(Window.unboundedPreceding, -1)
    early = acknowledged.withColumn("earliest", F.min("by").over(behind)).where(F.col("earliest") < F.col("at"))
    late = ((F.col("at") - F.col("earliest")) / 1e6).cast("decimal(20,3)")
    return anomaly(early, "realtime-order", "a record behind it had been acknowledged ", late, " ms before it was sent")


def phantom(history: History) -> DataFrame:
    """In the log of a topic of the run and not sent by any of its clients."""
    mine = history.acks.select("topic").distinct()
    stray = history.fates.where(F.col("result").isNull()).select(*RECORD, "at.topic", "at.partition", "at.offset")
    stray = stray.distinct().join(F.broadcast(mine), "topic", "left_semi")
    return anomaly(stray, "phantom", "no client of the run sent it")


def corrupt(history: History) -> DataFrame:
    """In the log with another due time in its value than it was sent with, or in a partition it was not sent to."""
    due, meant = F.col("due_ns"), F.col("partition")
    wrong = (F.col("at.due_ns") != due) | ((meant >= 0) & (meant != F.col("at.partition")))
    found = history.fates.where(wrong).select(*RECORD, due.alias("want"), meant.alias("meant"), "at.*")
    detail = F.concat(F.lit("due "), due, F.lit(", sent as due "), F.col("want"), F.lit(" to partition "))
    return anomaly(found, "corrupt-value", detail, F.col("meant"))
