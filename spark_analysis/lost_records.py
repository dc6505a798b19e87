"""Acknowledged records against those that a cluster has now: `python -m spark_analysis lost RUN --bootstrap HOST`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analysis.errors import FAILED, OK, UNKNOWN, AnalysisError
from spark_analysis.input.ingest import Run, read_run
from spark_analysis.input.kafka_source import read_topic
from spark_analysis.locations import Location
from spark_analysis.report.durability import durability
from spark_analysis.session import session


def lost(path: Location, bootstrap: str, master: str | None = None) -> int:
    """Prints the durability of the run's acknowledged records as JSON and returns its exit code.

    Raises AnalysisError (exit code 3) for a run without records.
    """
    spark = session(master, sum(f.stat().st_size for f in path.glob("acks/*.parquet")), places=[path])
    run = read_run(spark, path)
    topics = sorted(r["topic"] for r in run.acks.select("topic").distinct().collect())
    if not topics:
        raise AnalysisError(
            f"nothing to compare in {path}",
            observed="its table of acknowledgements has no rows",
            do="name a run whose clients sent records",
            code=UNKNOWN,
        )
    found, _ = durability(from_cluster(spark, run, topics, bootstrap), topics)
    print(json.dumps({"run": str(path), "bootstrap": bootstrap, **found}, default=str))
    return exit_code(found)


def exit_code(durability: Mapping[str, Any]) -> int:
    """FAILED if a record is lost; OK if there are acknowledged ones and all topics could be read; else UNKNOWN."""
    totals = durability["totals"]
    if totals["lost"]:
        return FAILED
    return OK if totals["acknowledged"] and durability["state"] == "checked" else UNKNOWN


def from_cluster(spark: SparkSession, run: Run, topics: Sequence[str], bootstrap: str) -> Run:
    """The run with these topics read back now, by Spark, in place of the records that it read back itself."""
    frames, notes = [], []
    for topic in topics:
        frame, ends = read_topic(spark, bootstrap, topic)
        frames.append(frame)
        data: dict[str, Any] = {"topic": topic, "end_offsets": ends, "complete": True}
        notes.append({"t_ns": 0, "mono_ns": 0, "kind": "note", "name": "read-back", "state": "point", "data": data})
    others = [e for e in run.events if (e["kind"], e["name"]) != ("note", "read-back")]
    read = reduce(DataFrame.unionByName, frames).withColumn("run", F.lit(run.id))
    # Read once, not once a query: the cluster may change, and every read goes over the network.
    return replace(run, folder=replace(run.folder, events=[*others, *notes]), reads=read.cache())
