"""A run folder as the tables that the checker judges. Reading happens here and nowhere else in the checker."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructField, StructType

from spark_analysis.errors import AnalysisError
from spark_analysis.ingest import read_run, read_table

PRODUCERS = StructType(
    [
        StructField("producer", StringType()),
        StructField("waits", BooleanType()),
        StructField("once", BooleanType()),
        StructField("final", BooleanType()),
    ]
)
EXPECTED = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("node", StringType()),
        StructField("end_offset", LongType()),
    ]
)
_WAITING = ("all", "-1", "min.insync.replicas", "-2")
LATER = ("replicas", "partitions", "polls", "watermarks")  # tables that older run folders lack


@dataclass(frozen=True)
class History:
    """One run.

    `producers`: whether its acks wait for other replicas, whether a record may be there once only (idempotence, or one
    attempt), and whether an error is the only attempt's and so final. `expected`: every replica that was read, with its
    end.
    """

    path: Path
    manifest: dict[str, Any]
    events: list[dict[str, Any]]
    acks: DataFrame
    replicas: DataFrame
    partitions: DataFrame
    polls: DataFrame
    watermarks: DataFrame
    producers: DataFrame
    expected: DataFrame

    @property
    def id(self) -> str:
        """The run id."""
        return str(self.manifest["run_id"])

    @property
    def spark(self) -> SparkSession:
        """The session that its tables belong to."""
        return self.acks.sparkSession

    def changed(self, **tables: DataFrame) -> History:
        """The same history with other tables."""
        return replace(self, **tables)  # type: ignore[arg-type]


def read_history(spark: SparkSession, path: Path) -> History:
    """Reads one run folder. Raises AnalysisError that names the folder."""
    run = read_run(spark, path)
    tables = {name: read_table(spark, path, name) for name in LATER}
    producers = [_producer(e["data"]) for e in run.events if (e["kind"], e["name"]) == ("note", "producer")]
    notes = [e["data"] for e in run.events if (e["kind"], e["name"]) == ("note", "replica")]
    expected = [(d["topic"], d["partition"], d["node"], d["end_offset"]) for d in notes]
    return History(
        path,
        run.manifest,
        run.events,
        run.acks.drop("run"),
        **tables,
        producers=spark.createDataFrame(producers, PRODUCERS),
        expected=spark.createDataFrame(expected, EXPECTED),
    )


def _producer(data: dict[str, Any]) -> tuple[str, bool, bool, bool]:
    waits, final = str(data.get("acks", "all")) in _WAITING, data.get("retries") == 0
    return data["producer"], waits, final or bool(data.get("idempotence", True)), final


def faults(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events that a record's history shows: faults, changed settings, phases."""
    return [e for e in events if e["kind"] in ("fault", "config")]


def require_replicas(history: History) -> None:
    """Raises AnalysisError (exit code 3: unknown) if no replica of the run was read."""
    if history.expected.isEmpty():
        raise AnalysisError(
            f"{history.path} cannot be checked",
            seen="no replica's log was read back: " + json.dumps(sorted({e["name"] for e in history.events}))[:200],
            do="make the run with `rackspan soak`, or a scenario that reads every replica at its end",
            code=3,
        )
