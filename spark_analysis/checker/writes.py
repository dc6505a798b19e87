"""What producers were told against what is in the logs: lost, refused but there, duplicated, moved, reordered."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.checker.anomalies import anomaly
from spark_analysis.checker.history import History

RECORD = ["producer", "seq"]
PLACE = ["topic", "partition"]

# Errors that say that the record was not appended. All others leave it open.
REFUSED = (
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_RACKS",
    "INCONSISTENT_REPLICA_CONFIGURATION",
    "RECORD_TOO_LARGE",
    "INVALID_REQUIRED_ACKS",
)


def places(history: History) -> DataFrame:
    """Where in the logs each record is, once for all replicas: one row per record and place."""
    return history.replicas.where(F.col("seq") >= 0).select(*RECORD, *PLACE, "offset", "due_ns").distinct()


def sent(history: History) -> DataFrame:
    """The acks rows with what is known of their producers. A producer without a note is taken to promise most."""
    known = history.acks.join(F.broadcast(history.producers), "producer", "left")
    return known.withColumns(
        {
            "waits": F.coalesce("waits", F.lit(True)),
            "once": F.coalesce("once", F.lit(True)),
            "final": F.coalesce("final", F.lit(False)),
        }
    )


def lost(history: History) -> DataFrame:
    """Acknowledged and nowhere. Without waiting for other replicas (acks 0 and 1) that is allowed."""
    told = sent(history).where(F.col("result") == "OK")
    gone = told.join(places(history), RECORD, "left_anti")
    return anomaly(gone, "lost-write", "acknowledged for offset ", F.col("offset"), allowed=~F.col("waits"))


def aborted(history: History) -> DataFrame:
    """Refused before it could be appended, by a producer that tries once only, and there all the same."""
    told = sent(history).where(F.col("final") & F.col("result").isin(*REFUSED))
    there = told.select(*RECORD, "result").join(places(history), RECORD, "inner")
    return anomaly(there, "aborted-write", "its producer was told ", F.col("result"))


def moved(history: History) -> DataFrame:
    """Acknowledged for a place where it is not, though it is elsewhere."""
    told = history.acks.where((F.col("result") == "OK") & (F.col("offset") >= 0))
    found = places(history).groupBy(*RECORD).agg(F.collect_set(F.struct(*PLACE, "offset")).alias("found"))
    here = told.join(found, RECORD, "inner").where(~F.array_contains("found", F.struct(*PLACE, "offset")))
    return anomaly(here, "inconsistent-offsets", "it is at ", F.to_json(F.sort_array("found")))


def duplicated(history: History) -> DataFrame:
    """In the log at more than one place; allowed to a producer without idempotence, which repeats on errors."""
    often = places(history).groupBy(*RECORD).agg(F.collect_set(F.struct(*PLACE, "offset")).alias("found"))
    often = often.where(F.size("found") > 1)
    once = sent(history).select(*RECORD, "once", *PLACE)
    frame = often.join(once, RECORD, "left")
    return anomaly(
        frame, "duplicate", "it is at ", F.to_json(F.sort_array("found")), allowed=~F.coalesce("once", F.lit(True))
    )


def reordered(history: History) -> DataFrame:
    """Behind a later record of its producer in the same partition; first places count, duplicates are told apart."""
    first = places(history).groupBy(*RECORD, *PLACE).agg(F.min("offset").alias("offset"))
    before = Window.partitionBy(*PLACE, "producer").orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    late = first.withColumn("ahead", F.max("seq").over(before)).where(F.col("ahead") > F.col("seq"))
    late = late.join(F.broadcast(history.producers), "producer", "left")
    return anomaly(
        late, "nonmonotonic-send", "record ", F.col("ahead"), " is before it", allowed=~F.coalesce("once", F.lit(True))
    )


def realtime(history: History) -> DataFrame:
    """Sent after another of the partition was acknowledged, and yet at a smaller offset; of records that are there."""
    told = history.acks.where((F.col("result") == "OK") & (F.col("offset") >= 0))
    told = told.join(places(history).drop("due_ns"), [*RECORD, *PLACE, "offset"], "left_semi")
    shift = F.col("due_mono_ns") - F.col("due_ns")  # the clients' shared monotonic clock: epochs may be set meanwhile
    told = told.select(
        *RECORD, *PLACE, "offset", (F.col("sent_ns") + shift).alias("at"), (F.col("done_ns") + shift).alias("by")
    )
    # From the log's end: a frame that grows is one pass, one that shrinks is summed up anew for each row.
    behind = Window.partitionBy(*PLACE).orderBy(F.desc("offset")).rowsBetween(Window.unboundedPreceding, -1)
    early = told.withColumn("earliest", F.min("by").over(behind)).where(F.col("earliest") < F.col("at"))
    late = ((F.col("at") - F.col("earliest")) / 1e6).cast("decimal(20,3)")
    return anomaly(early, "realtime-order", "a record behind it had been acknowledged ", late, " ms before it was sent")


def phantom(history: History) -> DataFrame:
    """In the log of a topic of the run and not sent by any of its clients."""
    mine = history.acks.select("topic").distinct()
    log = history.replicas.where(F.col("control") == 0).join(F.broadcast(mine), "topic", "left_semi")
    seen = log.select(*RECORD, *PLACE, "offset").distinct()
    stray = seen.join(history.acks.select(*RECORD), RECORD, "left_anti")
    return anomaly(stray, "phantom", "no client of the run sent it")


def corrupt(history: History) -> DataFrame:
    """In the log with another due time in its value than it was sent with, or in a partition it was not sent to."""
    want = history.acks.select(*RECORD, F.col("due_ns").alias("want"), F.col("partition").alias("meant"))
    other = places(history).join(want, RECORD, "inner")
    wrong = (F.col("due_ns") != F.col("want")) | ((F.col("meant") >= 0) & (F.col("meant") != F.col("partition")))
    told = F.concat(F.lit("due "), F.col("due_ns"), F.lit(", sent as due "), F.col("want"), F.lit(" to partition "))
    return anomaly(other.where(wrong), "corrupt-value", told, F.col("meant"))
