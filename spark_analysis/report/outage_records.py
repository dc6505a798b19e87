"""The raw data of an outage from its run folder, by Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_analysis.input.clocks import producer_clocks
from spark_analysis.input.ingest import Run
from spark_analysis.report import times
from spark_analysis.report.collected import collected, rows
from spark_analysis.report.durability import durability
from spark_analysis.report.outage_raw import OutageRaw, period
from spark_analysis.transforms import outage
from spark_analysis.transforms.clock import odd_times, on_the_clock_of_the_run


def raw_of(run: Run, manifest: dict[str, Any]) -> tuple[OutageRaw, Mapping[str, DataFrame | pa.Table]]:
    """Counts of one run with at least one record, and tables of its durability, which may be large. Raises
    AnalysisError if its times cannot be trusted.
    """
    own, clock = producer_clocks(run.events).own, run.manifest["clock"]
    times.evaluate(run.folder.path, rows(odd_times(run.acks)), clock, own)
    run = replace(run, acks=on_the_clock_of_the_run(run.acks, clock["epoch_ns"] - clock["mono_ns"], own))
    bounds = run.acks.agg(
        F.min("due_ns").alias("first"),
        F.greatest(F.max("due_ns"), F.max("done_ns")).alias("last"),
        F.collect_set("topic").alias("topics"),
    ).collect()[0]
    drawn = period(run.events, bounds["first"], bounds["last"])
    order = ("producer", "bucket", "outcome", "cause")
    kept, tables = durability(run, bounds["topics"])
    raw = OutageRaw(
        manifest=manifest,
        events=run.events,
        first_ns=bounds["first"],
        last_ns=bounds["last"],
        fates=collected(outage.fates(run.acks, drawn.origin_ns, drawn.bucket_ns), *order),
        over_time=collected(outage.latency_over_time(run.acks, drawn.origin_ns, drawn.bucket_ns), "bucket"),
        silences=collected(outage.longest_silence(run.acks), "producer").to_pylist(),
        answers=rows(outage.answers_between(run.acks, [int(m["t_ns"]) for m in drawn.line.marks])),
        racks=_racks(run, bounds["topics"], drawn.origin_ns),
        durability=kept,
    )
    return raw, tables


def _racks(run: Run, topics: Sequence[str], origin: int) -> list[dict[str, Any]]:
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
    return sorted(rows(per_second), key=lambda row: int(row["second"]))
