"""The document: everything that report.json holds and the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_analysis.errors import AnalysisError
from spark_analysis.input import schemas
from spark_analysis.input.clocks import producer_clocks
from spark_analysis.input.folders import Folder
from spark_analysis.input.ingest import Run, open_run
from spark_analysis.report import first_screen, outage, times, words
from spark_analysis.report.benchmark import page_section
from spark_analysis.report.benchmark.headline import headline, promises
from spark_analysis.report.benchmark.trials import over_trials
from spark_analysis.report.benchmark.warnings import bench_warnings
from spark_analysis.report.section import rows
from spark_analysis.statistics import histograms
from spark_analysis.transforms.clock import odd_times

_SHOWN = ("run_id", "name", "kind", "state", "failure", "seed", "spec", "versions", "patches", "host")


def build(
    parts: list[dict[str, Any]], skipped: list[AnalysisError], work: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The document of the parts of runs; ``work`` names the runs that were computed and those that were reused."""
    return {
        "schema_version": schemas.version(),
        "made_at": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        "spark": pyspark.__version__,
        "verdict": first_screen.verdict(parts),
        "headline": headline(parts),
        "promises": promises(parts),
        "modes": first_screen.modes(parts),
        "ratios": first_screen.ratios(parts),
        "warnings": [w for part in parts for w in part["warnings"]],
        "skipped": [{"what": e.what, "observed": e.observed, "do": e.do} for e in skipped],
        "work": work or {"computed": [part["run_id"] for part in parts], "reused": [], "acks_read": 0},
        "trials": over_trials(parts),
        "runs": parts,
    }


def part_of(spark: SparkSession, folder: Folder) -> tuple[dict[str, Any], Mapping[str, DataFrame | pa.Table]]:
    """One run's part of the document, and the tables behind it. Raises AnalysisError for a run without records, or
    whose files or times cannot be trusted.
    """
    if not folder.rows["acks"] and not folder.rows.get(histograms.TABLE):
        raise AnalysisError(
            f"{folder.path} holds no record of any send",
            observed=f"no row in acks, {len(folder.events)} events, state {folder.manifest['state']}",
            do="make the run again; its logs may show why nothing was sent",
        )
    run = open_run(spark, folder)
    if folder.rows["acks"] <= page_section.EXACT_UP_TO:
        run.acks.cache()
    try:
        return _part(spark, run)
    except (Py4JJavaError, PySparkException) as e:
        raise AnalysisError(
            f"{folder.path} could not be computed",
            observed=_cause(e),
            do="copy the run folder again, or make the run again: a table may be damaged",
        ) from e
    except KeyError as e:
        raise AnalysisError(
            f"{folder.path} lacks data that the report needs",
            observed=f"no {e} in its manifest or events",
            do="read it with the release that made it, or make the run again",
        ) from e
    finally:
        run.acks.unpersist()


def _part(spark: SparkSession, run: Run) -> tuple[dict[str, Any], Mapping[str, DataFrame | pa.Table]]:
    part: dict[str, Any] = {name: run.manifest[name] for name in _SHOWN}
    part["started"] = f"{datetime.fromtimestamp(run.manifest['started_ns'] / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    part["producers"] = [
        {name: e["data"][name] for name in _producer_fields() if name in e["data"]}
        for e in run.events
        if (e["kind"], e["name"]) == ("note", "producer")
    ]
    part["outage"], part["bench"] = None, None
    part["warnings"] = _warnings(run)
    if run.manifest["kind"] == "bench":
        measured = page_section.section(spark, run)
        if measured is None:
            blocks = sum((e["kind"], e["name"]) == ("phase", "block") for e in run.events)
            raise AnalysisError(
                f"{run.folder.path} has no block that was measured to its end",
                observed=f"{blocks} block events, state {run.manifest['state']}",
                do="make the run again and let it finish",
            )
        part["bench"] = measured.data
        part["findings"] = words.bench_findings(measured.data)
        part["warnings"] += bench_warnings(run.id, measured.data)
        return part, measured.tables
    own = producer_clocks(run.events).own
    times.evaluate(run.folder.path, rows(odd_times(run.acks)), run.manifest["clock"], own)
    timed = outage.section(spark, run)
    part["outage"] = timed.data
    part["findings"] = words.outage_findings(timed.data)
    return part, timed.tables


def _cause(e: Exception) -> str:
    """The innermost cause of a Spark error, in one line."""
    text = str(e.java_exception if isinstance(e, Py4JJavaError) else e)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.partition("Caused by: ")[2] for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or [type(e).__name__])[-1 if causes else 0][:300]


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
