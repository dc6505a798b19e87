"""Run folders to DataFrames. Reading happens here and nowhere else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructField, StructType

from spark_analysis import schemas
from spark_analysis.errors import AnalysisError

BLOCKS = StructType(
    [
        StructField("run", StringType()),
        StructField("producer", StringType()),
        StructField("mode", StringType()),
        StructField("role", StringType()),
        StructField("block", IntegerType()),
        StructField("pair", IntegerType()),
        StructField("begin_ns", LongType()),
        StructField("end_ns", LongType()),
        StructField("cpu_busy", DoubleType()),
        StructField("part", StringType()),
        StructField("steal", DoubleType()),
        StructField("isr", IntegerType()),
        StructField("rtt_off", DoubleType()),
    ]
)


@dataclass(frozen=True)
class Run:
    """One checked run folder: manifest and events in memory, tables as DataFrames with a column run in front."""

    path: Path
    manifest: dict[str, Any]
    events: list[dict[str, Any]]
    acks: DataFrame
    reads: DataFrame
    metrics: DataFrame
    fetches: DataFrame

    @property
    def id(self) -> str:
        """The run id; also the value of column run."""
        return str(self.manifest["run_id"])


def read_run(spark: SparkSession, path: Path) -> Run:
    """Reads and checks one run folder; raises AnalysisError that names the folder."""
    layout = schemas.contract()["layout"]
    manifest = schemas.check_manifest(path, _json(path / layout["manifest"]))
    events = schemas.check_events(path, _lines(path / layout["events"]))
    run = manifest["run_id"]
    tables = (_table(spark, path, name, run) for name in ("acks", "reads", "metrics", "fetches"))
    return Run(path, manifest, events, *tables)


def read_runs(spark: SparkSession, paths: list[Path]) -> tuple[list[Run], list[AnalysisError]]:
    """All runs that can be read, and one error for each that cannot. A run given twice counts once."""
    runs: dict[str, Run] = {}
    errors = []
    for path in paths:
        try:
            run = read_run(spark, path)
        except AnalysisError as e:
            errors.append(e)
            continue
        runs.setdefault(run.id, run)
    return list(runs.values()), errors


def union(frames: list[DataFrame]) -> DataFrame:
    """One DataFrame of the same table of several runs."""
    return reduce(DataFrame.unionByName, frames)


def blocks(spark: SparkSession, runs: list[Run]) -> DataFrame:
    """One row per finished block phase: which producer's records, due in which window, belong to which mode.

    ``part`` tells parts of a block apart, such as before and during a fault; empty where there are none.
    """
    rows = []
    for run in runs:
        begun: dict[tuple[str, int, str], dict[str, Any]] = {}
        for event in run.events:
            if (event["kind"], event["name"]) != ("phase", "block"):
                continue
            data = event["data"]
            part = data.get("part", "")
            key = (data["producer"], data["block"], part)
            if event["state"] == "begin":
                begun[key] = event
            elif key in begun:
                window = (begun.pop(key)["t_ns"], event["t_ns"])
                seen = (data.get("cpu_busy"), part, data.get("steal"), data.get("isr"), data.get("rtt_off"))
                rows.append(
                    (run.id, data["producer"], data["mode"], data["role"], data["block"], data["pair"], *window, *seen)
                )
    return spark.createDataFrame(rows, BLOCKS)


def _table(spark: SparkSession, path: Path, name: str, run: str) -> DataFrame:
    if not (path / name).is_dir():
        raise AnalysisError(
            f"{path} is not a whole run folder",
            seen=f"no folder {name}",
            do="give a folder made by a run, not one of its parts",
        )
    return read_table(spark, path, name).select(F.lit(run).alias("run"), *schemas.table(name).names)


def read_table(spark: SparkSession, path: Path, name: str) -> DataFrame:
    """One table of a run folder, empty if it has no files. Raises AnalysisError on columns not in the contract."""
    want = schemas.table(name)
    if not any((path / name).glob("*.parquet")):
        return spark.createDataFrame([], want)
    frame = spark.read.parquet(str(path / name))
    schemas.check_table(path, name, frame.schema)
    return frame.select(*want.names)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise AnalysisError(
            f"{path.parent} is not a run folder", seen=f"{path.name}: {e}", do="give a folder made by a run"
        ) from e


def _lines(path: Path) -> list[Any]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as e:
        raise AnalysisError(
            f"{path.parent} is not a run folder", seen=f"{path.name}: {e}", do="give a folder made by a run"
        ) from e
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            # Only the last line can be cut short, by a crash of the writer; what follows a broken line is unknown.
            break
    return rows
