"""The raw data of one run by Spark, and its part of the document. Nothing else of a report needs Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_analysis.errors import AnalysisError
from spark_analysis.input.folders import Folder
from spark_analysis.input.ingest import open_run
from spark_analysis.report import document, outage_records
from spark_analysis.report.benchmark import from_records
from spark_analysis.report.benchmark.raw import BENCH, Raw
from spark_analysis.report.outage_raw import OutageRaw
from spark_analysis.statistics import histograms


@dataclass(frozen=True)
class RunPart:
    """One run's part of the document, the tables behind it, and the raw data that the part follows from."""

    data: dict[str, Any]
    tables: Mapping[str, DataFrame | pa.Table]
    raw: Raw | OutageRaw


def part_of(spark: SparkSession, folder: Folder) -> RunPart:
    """One run. Raises AnalysisError for a run without records, or whose files or times cannot be trusted."""
    if not folder.rows["acks"] and not folder.rows.get(histograms.TABLE):
        raise AnalysisError(
            f"{folder.path} holds no record of any send",
            observed=f"no row in acks, {len(folder.events)} events, state {folder.manifest['state']}",
            do="make the run again; its logs may show why nothing was sent",
        )
    run = open_run(spark, folder)
    if folder.rows["acks"] <= from_records.EXACT_UP_TO:
        run.acks.cache()
    try:
        raw: Raw | OutageRaw
        more: Mapping[str, DataFrame | pa.Table] = {}
        manifest = {name: run.manifest[name] for name in document.MANIFEST}
        if run.manifest["kind"] == BENCH:
            raw = from_records.raw_of(spark, run, manifest)
        else:
            raw, more = outage_records.raw_of(run, manifest)
        made = document.part(raw)
        return RunPart(made.data, {**made.tables, **more}, raw)
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


def _cause(e: Exception) -> str:
    """The innermost cause of a Spark error, in one line."""
    text = str(e.java_exception if isinstance(e, Py4JJavaError) else e)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.partition("Caused by: ")[2] for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or [type(e).__name__])[-1 if causes else 0][:300]
