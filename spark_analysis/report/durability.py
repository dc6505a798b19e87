"""The durability part of the document: acknowledged records against what was read back."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from spark_analysis.input.ingest import Run
from spark_analysis.report.section import Section, rows
from spark_analysis.transforms import durability as fates_of

_TOPICS = StructType([StructField("run", StringType()), StructField("topic", StringType())])
_ENDS = StructType(
    [
        StructField("run", StringType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("end_offset", LongType()),
    ]
)
LOST_SHOWN = 20


def durability(spark: SparkSession, run: Run) -> Section:
    """Lost, duplicated, moved and reordered records of the topics that were read to their end."""
    notes = {e["data"]["topic"]: e["data"] for e in run.events if (e["kind"], e["name"]) == ("note", "read-back")}
    ends = [
        (run.id, topic, int(partition), int(offset))
        for topic, data in notes.items()
        for partition, offset in data["end_offsets"].items()
    ]
    short = rows(fates_of.unread(run.reads, spark.createDataFrame(ends, _ENDS)).orderBy("topic", "partition"))
    read = {t for t, d in notes.items() if d["complete"]} - {r["topic"] for r in short}
    sent = {r["topic"] for r in run.acks.select("topic").distinct().collect()}
    unchecked = sorted(sent - read)
    topics = spark.createDataFrame([(run.id, t) for t in sorted(read)], _TOPICS)
    fates = fates_of.fates(run.acks, run.reads, topics)
    table = fates_of.summary(fates)
    lost = fates_of.lost(fates)
    late = {r["producer"]: r["reordered"] for r in rows(fates_of.reordered(run.reads))}
    producers = rows(table.orderBy("producer"))
    for row in producers:
        row["reordered"] = late.get(row["producer"], 0)
    settings = {e["data"]["producer"]: e["data"] for e in run.events if (e["kind"], e["name"]) == ("note", "producer")}
    for row in producers:
        requested = str(settings.get(row["producer"], {}).get("acks", "not recorded"))
        row["acks"] = {"-1": "all", "-2": "min.insync.replicas"}.get(requested, requested)
    data = {
        "state": "not checked" if not read else "checked" if not unchecked else "checked in part",
        "unchecked_topics": unchecked,
        "short_reads": short,
        "producers": producers,
        "totals": {
            key: sum(row[key] for row in producers)
            for key in ("acknowledged", "lost", "duplicates", "moved", "reordered", "present_though_not_acknowledged")
        },
        "phantoms": fates_of.phantoms(run.reads, run.acks).count(),
        "lost_first": rows(lost.orderBy("due_ns").limit(LOST_SHOWN)),
    }
    return Section(data, {"durability": table, "lost": lost})
