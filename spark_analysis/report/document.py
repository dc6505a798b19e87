"""The whole document: what report.json holds and what the page shows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_analysis import schemas
from spark_analysis.errors import AnalysisError
from spark_analysis.ingest import Run, union
from spark_analysis.report import bench, outage, words

_SHOWN = ("run_id", "name", "kind", "state", "failure", "seed", "spec", "versions", "patches", "host")


def build(
    spark: SparkSession, runs: list[Run], skipped: list[AnalysisError], tell: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, DataFrame]]:
    """The document and the tables behind it; ``tell`` is told what is being worked on."""
    parts: list[dict[str, Any]] = []
    tables: dict[str, list[DataFrame]] = {}
    for run in runs:
        tell(f"reading {run.id}")
        part, frames = _run(spark, run)
        parts.append(part)
        for name, frame in frames.items():
            tables.setdefault(name, []).append(frame)
    document = {
        "schema_version": schemas.version(),
        "made_at": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        "spark": spark.version,
        "headline": [sentence for part in parts for sentence in part["findings"][:2]],
        "warnings": [w for part in parts for w in part["warnings"]],
        "skipped": [{"what": e.what, "seen": e.seen, "do": e.do} for e in skipped],
        "runs": parts,
    }
    return document, {name: union(frames) for name, frames in tables.items()}


def _run(spark: SparkSession, run: Run) -> tuple[dict[str, Any], dict[str, DataFrame]]:
    part: dict[str, Any] = {name: run.manifest[name] for name in _SHOWN}
    part["started"] = f"{datetime.fromtimestamp(run.manifest['started_ns'] / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    part["producers"] = [
        {name: e["data"][name] for name in _producer_fields() if name in e["data"]}
        for e in run.events
        if (e["kind"], e["name"]) == ("note", "producer")
    ]
    part["outage"], part["bench"] = None, None
    part["findings"], part["warnings"] = [], _warnings(run)
    run.acks.cache()
    if run.acks.isEmpty():
        part["warnings"].append(f"{run.id} holds no record of any send: nothing to analyse.")
        return part, {}
    if run.manifest["kind"] == "bench":
        measured = bench.section(spark, run)
        if measured is None:
            part["warnings"].append(f"{run.id} has no block that was measured to its end: nothing to compare.")
            return part, {}
        part["bench"] = measured.data
        part["findings"] = words.bench_findings(measured.data)
        part["warnings"] += words.bench_warnings(run.id, measured.data)
        return part, measured.tables
    timed = outage.section(spark, run)
    part["outage"] = timed.data
    part["findings"] = words.outage_findings(timed.data)
    return part, timed.tables


def _producer_fields() -> list[str]:
    known = schemas.contract()["events"]["known"]
    return list(next(e["data"] for e in known if (e["kind"], e["name"]) == ("note", "producer")))


def _warnings(run: Run) -> list[str]:
    state = run.manifest["state"]
    if state == "running":
        return [f"{run.id} was never finished: its numbers end where it was cut short."]
    if state == "failed":
        return [f"{run.id} failed: {run.manifest['failure']}"]
    return []
