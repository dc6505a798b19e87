"""The outage part of the document: records acknowledged, refused and lost, over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_analysis.input.clocks import producer_clocks
from spark_analysis.input.ingest import Run
from spark_analysis.report import timeline
from spark_analysis.report.durability import durability
from spark_analysis.report.section import Section, collected, rows, summed
from spark_analysis.transforms import outage
from spark_analysis.transforms.clock import on_the_clock_of_the_run


def section(spark: SparkSession, run: Run) -> Section:
    """Timeline, segments, outcomes, silences and durability of one run; needs at least one record."""
    clock = run.manifest["clock"]
    run = replace(
        run,
        acks=on_the_clock_of_the_run(run.acks, clock["epoch_ns"] - clock["mono_ns"], producer_clocks(run.events).own),
    )
    bounds = run.acks.agg(
        F.min("due_ns").alias("first"),
        F.greatest(F.max("due_ns"), F.max("done_ns")).alias("last"),
        F.collect_set("topic").alias("topics"),
    ).collect()[0]
    # Notes (a producer started, a topic read back) lie outside of the time that is drawn.
    times = [e["t_ns"] for e in run.events if e["kind"] != "note"]
    origin, end = min([bounds["first"], *times]), max([bounds["last"], *times])
    line = timeline.build(run.events, origin, end)
    width_s = timeline.bucket_seconds((end - origin) / 1e9)
    width = int(width_s * 1e9)
    counts = collected(outage.fates(run.acks, origin, width))
    fates = summed(counts, "records", "run", "bucket", "outcome", "cause")
    outcomes = summed(counts, "records", "run", "producer", "outcome", "cause")
    over_time = collected(outage.latency_over_time(run.acks, origin, width), "bucket")
    silences = collected(outage.longest_silence(run.acks), "producer").to_pylist()
    for silence in silences:
        silence["silence_s"] = round(silence.pop("silence_ns") / 1e9, 3)
        silence["from_s"] = timeline.seconds(silence.pop("from_ns"), origin)
        silence["to_s"] = timeline.seconds(silence.pop("to_ns"), origin)
    kept = durability(run, bounds["topics"])
    data = {
        "seconds": timeline.seconds(end, origin),
        "bucket_s": width_s,
        "windows": line.windows,
        "segments": _segments(run, line, origin, end),
        "outcomes": sorted(outcomes.to_pylist(), key=lambda row: (row["producer"], -row["records"])),
        "silences": silences,
        "durability": kept.data,
        "series": {
            "fates": fates.drop_columns("run").to_pylist(),
            "latency": over_time.drop_columns("run").to_pylist(),
            "span": _span(run, bounds["topics"], origin),
        },
    }
    tables = {"fates": fates, "latency_over_time": over_time, "outcomes": outcomes, **kept.tables}
    return Section(data, tables)


def _segments(run: Run, line: timeline.Timeline, origin: int, end: int) -> list[dict[str, Any]]:
    """Answers between every two marks, and the time from the mark to the first of each kind."""
    starts = [int(m["t_ns"]) for m in line.marks]
    untils = [*starts[1:], end + 1]
    answers = rows(outage.answers_between(run.acks, starts))
    out = []
    for i, mark in enumerate(line.marks):
        here = [row for row in answers if row["mark"] == i]
        good = [r for r in here if r["acknowledged"]]
        bad = [r for r in here if not r["acknowledged"]]
        # A change may take effect only after the next mark.
        later = [r for r in answers if r["acknowledged"] and r["mark"] >= i]

        def after(times: list[int], start: int = starts[i]) -> float | None:
            return timeline.seconds(times[0], start) if times else None

        event = mark["event"]
        out.append(
            {
                "label": mark["label"],
                "kind": mark["kind"],
                "data": event["data"] if event else {},
                "at_s": timeline.seconds(starts[i], origin),
                "until_s": timeline.seconds(untils[i], origin),
                "acknowledged": sum(r["records"] for r in good),
                "refused": sum(r["records"] for r in bad),
                "refusals": [
                    {"name": r["name"], "records": r["records"], "first_after_s": after([r["first_ns"]])}
                    for r in sorted(bad, key=lambda r: (-r["records"], r["name"]))
                ],
                "first_refusal_after_s": after(sorted(r["first_ns"] for r in bad)),
                "first_ack_after_s": after(sorted(r["first_ns"] for r in later)),
                "last_ack_after_s": after(sorted((r["last_ns"] for r in good), reverse=True)),
            }
        )
    return out


def _span(run: Run, topics: Sequence[str], origin: int) -> list[dict[str, Any]]:
    """Least and greatest number of racks in the ISR of the run's topics, per second, where the run sampled it."""
    sampled = run.metrics.where(F.col("name") == "kafka_cluster_Partition_IsrRackCount").where(
        F.get_json_object("labels", "$.topic").isin(*topics) & (F.col("value") > 0)
    )
    # Nodes are sampled one after the other: one second joins the samples of all nodes.
    per_second = (
        sampled.withColumn("second", F.floor((F.col("t_ns") - F.lit(origin)) / F.lit(1_000_000_000)))
        .groupBy("second")
        .agg(F.min("value").alias("least"), F.max("value").alias("most"))
    )
    found = collected(per_second, "second").to_pylist()
    return [{"at_s": float(r["second"]), "least": r["least"], "most": r["most"]} for r in found]
