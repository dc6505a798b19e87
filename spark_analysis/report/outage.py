"""The outage part of the document: records acknowledged, refused and lost, over time."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from spark_analysis.input.ingest import Run
from spark_analysis.report import timeline
from spark_analysis.report.durability import durability
from spark_analysis.report.section import Section, rows
from spark_analysis.transforms import latency, outage

_MARKS = StructType(
    [
        StructField("run", StringType()),
        StructField("mark", IntegerType()),
        StructField("t_ns", LongType()),
        StructField("until_ns", LongType()),
    ]
)


def section(spark: SparkSession, run: Run) -> Section:
    """Timeline, segments, outcomes, silences and durability of one run; needs at least one record."""
    bounds = run.acks.agg(
        F.min("due_ns").alias("first"), F.greatest(F.max("due_ns"), F.max("done_ns")).alias("last")
    ).collect()[0]
    # Notes (a producer started, a topic read back) lie outside of the time that is drawn.
    times = [e["t_ns"] for e in run.events if e["kind"] != "note"]
    origin, end = min([bounds["first"], *times]), max([bounds["last"], *times])
    line = timeline.build(run.events, origin, end)
    width_s = timeline.bucket_seconds((end - origin) / 1e9)
    width = int(width_s * 1e9)
    fates = outage.fates(run.acks, origin, width)
    over_time = outage.latency_over_time(run.acks, origin, width)
    outcomes = latency.outcomes(run.acks, ["run", "producer"])
    silences = rows(outage.longest_silence(run.acks).orderBy("producer"))
    for silence in silences:
        silence["silence_s"] = round(silence.pop("silence_ns") / 1e9, 3)
        silence["from_s"] = timeline.seconds(silence.pop("from_ns"), origin)
        silence["to_s"] = timeline.seconds(silence.pop("to_ns"), origin)
    kept = durability(spark, run)
    data = {
        "seconds": timeline.seconds(end, origin),
        "bucket_s": width_s,
        "windows": line.windows,
        "segments": _segments(spark, run, line, origin, end),
        "outcomes": rows(outcomes.orderBy("producer", F.desc("records"))),
        "silences": silences,
        "durability": kept.data,
        "series": {
            "fates": rows(fates.drop("run").orderBy("bucket", "outcome", "cause")),
            "latency": rows(over_time.drop("run").orderBy("bucket")),
            "span": _span(run, origin),
        },
    }
    tables = {"fates": fates, "latency_over_time": over_time, "outcomes": outcomes, **kept.tables}
    return Section(data, tables)


def _segments(spark: SparkSession, run: Run, line: timeline.Timeline, origin: int, end: int) -> list[dict[str, Any]]:
    """Answers between every two marks, and the time from the mark to the first of each kind."""
    starts = [int(m["t_ns"]) for m in line.marks]
    untils = [*starts[1:], end + 1]
    marks = spark.createDataFrame(
        [(run.id, i, t, until) for i, (t, until) in enumerate(zip(starts, untils, strict=True))], _MARKS
    )
    named: dict[int, list[dict[str, Any]]] = {}
    for row in rows(outage.refusals_after(run.acks, marks).orderBy(F.desc("records"), "name")):
        after_s = timeline.seconds(row["first_ns"], starts[row["mark"]])
        refusal = {"name": row["name"], "records": row["records"], "first_after_s": after_s}
        named.setdefault(row["mark"], []).append(refusal)
    found = {r["mark"]: r for r in rows(outage.firsts_after(run.acks, marks))}
    # The same without the next mark as a limit: a change may take effect only after the next one.
    ever = {r["mark"]: r for r in rows(outage.firsts_after(run.acks, marks.withColumn("until_ns", F.lit(end + 1))))}
    out = []
    for i, mark in enumerate(line.marks):
        here, later = found.get(i, {}), ever.get(i, {})

        def after(row: dict[str, Any], name: str, t_ns: int = starts[i]) -> float | None:
            return None if row.get(name) is None else timeline.seconds(row[name], t_ns)

        event = mark["event"]
        out.append(
            {
                "label": mark["label"],
                "kind": mark["kind"],
                "data": event["data"] if event else {},
                "at_s": timeline.seconds(starts[i], origin),
                "until_s": timeline.seconds(untils[i], origin),
                "acknowledged": here.get("acknowledged", 0),
                "refused": here.get("refused", 0),
                "refusals": named.get(i, []),
                "first_refusal_after_s": after(here, "first_refusal_ns"),
                "first_ack_after_s": after(later, "first_ack_ns"),
                "last_ack_after_s": after(here, "last_ack_ns"),
            }
        )
    return out


def _span(run: Run, origin: int) -> list[dict[str, Any]]:
    """Least and greatest number of racks in the ISR of the run's topics, per second, where the run sampled it."""
    topics = [r["topic"] for r in run.acks.select("topic").distinct().collect()]
    sampled = run.metrics.where(F.col("name") == "kafka_cluster_Partition_IsrRackCount").where(
        F.get_json_object("labels", "$.topic").isin(topics) & (F.col("value") > 0)
    )
    # Nodes are sampled one after the other: one second joins the samples of all nodes.
    per_second = (
        sampled.withColumn("second", F.floor((F.col("t_ns") - F.lit(origin)) / F.lit(1_000_000_000)))
        .groupBy("second")
        .agg(F.min("value").alias("least"), F.max("value").alias("most"))
        .orderBy("second")
    )
    return [{"at_s": float(r["second"]), "least": r["least"], "most": r["most"]} for r in rows(per_second)]
