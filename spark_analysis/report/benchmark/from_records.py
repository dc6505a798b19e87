"""The raw data of a benchmark from its run folder, by Spark: the only file of this folder that needs Spark."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analysis.errors import AnalysisError
from spark_analysis.input.blocks import finished_blocks
from spark_analysis.input.clocks import producer_clocks
from spark_analysis.input.ingest import Run, blocks, read_table
from spark_analysis.report import times
from spark_analysis.report.benchmark.blocks import FAULT
from spark_analysis.report.benchmark.raw import AROUND_BUCKET_NS, Raw, kept_events
from spark_analysis.report.collected import rows
from spark_analysis.report.promises import EARLY, has_set, required, waits
from spark_analysis.statistics import histograms
from spark_analysis.statistics.counts import RECORDS, VALUE
from spark_analysis.transforms import benchmark, end_to_end, latency, oracle
from spark_analysis.transforms.clock import CLOCK_OBSERVED

# So many records and every microsecond is a value of its own; beyond, values are buckets of 0.4 %.
EXACT_UP_TO = 2_000_000
_AROUND_BEFORE_S = 5.0
# What the ideal of a record depends on, and its block.
_OF_IDEAL = (
    *("run", "producer", "seq", "topic", "partition", "offset", "due_ns", "sent_ns", "done_ns", "due_mono_ns"),
    *("role", "block", "part"),
)
_OF_SET = ("topic", "partition", "leader", "members", "from_ns")


def raw_of(spark: SparkSession, run: Run, manifest: dict[str, Any]) -> Raw:
    """Counts of a benchmark run, with what the page needs of its manifest. Raises AnalysisError without a finished
    block, or if its times cannot be trusted.
    """
    spec = run.manifest["spec"]["workload"]
    known = finished_blocks(run.id, run.events)
    if not known:
        blocks_noted = sum((e["kind"], e["name"]) == ("phase", "block") for e in run.events)
        raise AnalysisError(
            f"{run.folder.path} has no block that was measured to its end",
            observed=f"{blocks_noted} block events, state {run.manifest['state']}",
            do="make the run again and let it finish",
        )
    windows = blocks(spark, [run]).cache()
    inside = latency.in_blocks(run.acks, windows)
    exact = run.folder.rows["acks"] <= EXACT_UP_TO
    if exact:
        inside = inside.cache()
    kept = histograms.of(run.folder.path)
    if kept is None:
        latencies, lags = _record_counts(run, known, inside, exact=exact)
    else:
        latencies, lags = histograms.latencies(kept), histograms.send_lag(kept)
    return Raw(
        manifest=manifest,
        events=kept_events(run.events),
        exact=exact and kept is None,
        latencies=_sorted(latencies),
        send_lags=_sorted(lags),
        received=_sorted(_received(spark, run, inside, kept)) if spec.get("consume") else None,
        ideal=_sorted(_ideal(spark, run, inside, spec, exact=exact)) if run.folder.rows["fetches"] else None,
        overwritten={r["producer"]: r["lost"] for r in rows(benchmark.overwritten(run.acks))} if exact else {},
        silences=rows(benchmark.silences(run.acks, windows).drop("run")) if spec["fault"] else [],
        around=_around(spark, run, spec, known) if spec["fault"] else [],
    )


def _sorted(table: pa.Table) -> pa.Table:
    """The same rows in one order, whatever the order in which they were computed."""
    names = [name for name in table.column_names if name != RECORDS]
    return table.sort_by([(name, "ascending") for name in names]).combine_chunks()


def _record_counts(
    run: Run, known: Sequence[dict[str, Any]], inside: DataFrame, *, exact: bool
) -> tuple[pa.Table, pa.Table]:
    """Counts of latencies, as histograms.latencies gives them, and of send lags with their quarters. Raises
    AnalysisError if the times of records in blocks cannot be trusted.
    """
    table = benchmark.record_counts(inside, exact=exact).toArrow()
    latencies, lags = (table.filter(pc.field("measure") == name) for name in (benchmark.LATENCY, benchmark.SEND_LAG))
    of = {b["block"]: b["producer"] for b in known}
    producers = pa.table({"block": pa.array(of, pa.int32()), "producer": list(of.values())})
    observed = lags.join(producers, "block").group_by("producer")
    observed = observed.aggregate(list(zip(CLOCK_OBSERVED, ("sum", "min", "max"), strict=True)))
    elsewhere = set(producer_clocks(run.events).elsewhere_ahead_ns)
    rows_of = observed.rename_columns(["producer", *CLOCK_OBSERVED]).to_pylist()
    times.evaluate(run.folder.path, rows_of, run.manifest["clock"], set(of.values()) - elsewhere)
    latencies = latencies.drop_columns(["measure", "quarter", *CLOCK_OBSERVED])
    return latencies, lags.select(["block", "part", "quarter", VALUE, RECORDS])


def _received(spark: SparkSession, run: Run, inside: DataFrame, kept: pa.Table | None) -> pa.Table:
    """Counts of records by the time until a consumer received them."""
    if kept is not None:
        return histograms.end_to_end(kept)
    polls = read_table(spark, run.folder.path, "polls").withColumn("run", F.lit(run.id))
    return end_to_end.counted(inside, polls).toArrow()


def _ideal(spark: SparkSession, run: Run, inside: DataFrame, spec: dict[str, Any], *, exact: bool) -> pa.Table:
    """Counts of records before any fault beside their ideal quorum, of the modes that wait for a follower."""
    answered = inside.where(latency.is_acknowledged() & (F.col("offset") >= 0) & (F.col("part") == "quiet"))
    quiet = answered.select(*_OF_IDEAL)
    racks = spark.createDataFrame(
        [(int(broker), rack) for broker, rack in run.manifest["spec"]["broker_racks"].items()],
        "broker int, rack string",
    )
    waiting = [mode for mode in spec["modes"] if waits(mode["acks"])]
    needed = [_needed(mode, spec) for mode in waiting]
    needs = spark.createDataFrame(needed, "role string, m int, k int, with_set boolean")
    followers = spec["topic"]["replication"] - 1
    beside = quiet.join(oracle.arrivals(quiet, run.fetches, racks), on=["run", "producer", "seq"], how="inner")
    beside = beside.join(F.broadcast(needs), on="role", how="inner")
    if any(with_set for *_, with_set in needed):
        beside = oracle.with_sets(beside, _awaited(spark, run.events))
    else:
        beside = beside.withColumn("set_ns", F.lit(None).cast("long"))
    return oracle.counted(beside, followers, exact=exact).toArrow()


def _needed(mode: dict[str, Any], spec: dict[str, Any]) -> tuple[str, int, int, bool]:
    """Replicas and racks that an answer waits for, the leader included, 0 replicas: all of them; and whether it waits
    for an electable set.
    """
    if mode["acks"] not in EARLY:
        return mode["role"], 0, 0, False
    return mode["role"], *required({**spec["topic"]["settings"], **mode["topic"]}), has_set(mode)


def _awaited(spark: SparkSession, events: Sequence[dict[str, Any]]) -> DataFrame:
    """The replicas waited for at level 2, as `oracle.with_sets` needs them, from the notes of the run."""
    noted = [one for e in events if (e["kind"], e["name"]) == ("note", "awaited-sets") for one in e["data"]["sets"]]
    known = [
        (*(now[name] for name in _OF_SET), then["from_ns"] if _is_same_place(now, then) else 2**62)
        for now, then in pairwise([*noted, {}])
    ]
    schema = "topic string, partition int, leader int, members array<int>, from_ns long, until_ns long"
    return spark.createDataFrame(known, schema)


def _is_same_place(now: dict[str, Any], then: dict[str, Any]) -> bool:
    return (now["topic"], now["partition"]) == (then.get("topic"), then.get("partition"))


def _around(
    spark: SparkSession, run: Run, spec: dict[str, Any], known: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Latency of every round from shortly before its fault to shortly after."""
    before, after = int(_AROUND_BEFORE_S * 1e9), int(spec["fault"]["recover"] * 1e9)
    chosen = [
        (
            *(run.id, b["producer"], b["pair"], b["role"]),
            *(b["begin_mono_ns"] - before, b["end_mono_ns"] + after, b["begin_mono_ns"]),
        )
        for b in known
        if b["part"] == FAULT
    ]
    schema = "run string, producer string, pair int, role string, from_ns long, until_ns long, origin_ns long"
    found = benchmark.around(run.acks, spark.createDataFrame(chosen, schema), AROUND_BUCKET_NS)
    return rows(found.drop("run").orderBy("pair", "role", "bucket"))
