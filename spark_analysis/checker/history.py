"""A run folder as the tables that the checker reads. The checker reads files here and nowhere else."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructField, StructType

from spark_analysis.errors import AnalysisError
from spark_analysis.input.ingest import read_run, read_table

PRODUCERS = StructType(
    [
        StructField("producer", StringType()),
        StructField("waits", BooleanType()),
        StructField("once", BooleanType()),
        StructField("final", BooleanType()),
        StructField("quorum", BooleanType()),
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
RECORD = ["producer", "seq"]
PLACE = ["topic", "partition"]
_QUORUM = ("min.insync.replicas", "-2")
_WAITING = ("all", "-1", *_QUORUM)
LATER = ("replicas", "partitions", "polls", "watermarks")  # tables that older run folders lack


@dataclass(frozen=True)
class History:
    """One run.

    `producers`: `waits` if its acks wait for other replicas, `once` if a record may be in the log once only
    (idempotence, or a single attempt), `final` if it does not retry, `quorum` if its acks are min.insync.replicas.
    `expected`: every replica that was read, with its end. Most rules use the tables derived below, each made in one
    pass.
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
    def quorum_producers(self) -> list[str]:
        """Names of the producers with acks=min.insync.replicas."""
        return [name for name, *_, quorum in producers(self.events) if quorum]

    @property
    def spark(self) -> SparkSession:
        """The session that its tables belong to."""
        return self.acks.sparkSession

    def changed(self, **tables: DataFrame) -> History:
        """The same history with other tables."""
        return replace(self, **tables)  # type: ignore[arg-type]

    @cached_property
    def spots(self) -> DataFrame:
        """The record at each offset, once for all replicas that agree on it.

        `copies` is the number of replicas, `holders` a sum that differs for other replicas, `same` is true if their
        bytes are equal.
        """
        content = F.xxhash64("value_crc", "batch_crc", "timestamp_ms")
        return self.replicas.groupBy(*PLACE, "offset", *RECORD, "due_ns", "leader_epoch", "control").agg(
            F.count("*").alias("copies"),
            nodes_sum().alias("holders"),
            (F.min(content) == F.max(content)).alias("same"),
        )

    @cached_property
    def begins(self) -> DataFrame:
        """Where each leader epoch begins in the final log, and the offset behind its last record."""
        ends = (F.min("offset").alias("begin"), (F.max("offset") + 1).alias("end"))
        return self.spots.groupBy(*PLACE, "leader_epoch").agg(*ends)

    @cached_property
    def places(self) -> DataFrame:
        """Places of each record in the logs: one row per record and place. Records of other clients have seq -1."""
        return self.spots.where("control = 0").select(*PLACE, "offset", *RECORD, "due_ns").distinct()

    @cached_property
    def sent(self) -> DataFrame:
        """The acks rows with the settings of their producers; without a note the strictest settings are assumed."""
        known = self.acks.join(F.broadcast(self.producers), "producer", "left")
        return known.withColumns(
            {
                "waits": F.coalesce("waits", F.lit(True)),
                "once": F.coalesce("once", F.lit(True)),
                "final": F.coalesce("final", F.lit(False)),
                "quorum": F.coalesce("quorum", F.lit(False)),
            }
        )

    @cached_property
    def fates(self) -> DataFrame:
        """Records sent joined with records in the logs: `result` is null if none was sent, `at` if it is in no log.

        `here` is true for a record that is where its acknowledgement says. One row per record and place.
        """
        there = self.places.select(*RECORD, F.struct(*PLACE, "offset", "due_ns").alias("at"))
        here = (F.col("at.topic") == F.col("topic")) & (F.col("at.partition") == F.col("partition"))
        here &= F.col("at.offset") == F.col("offset")
        return self.sent.drop("cause").join(there, RECORD, "full").withColumn("here", here)

    @cached_property
    def scattered(self) -> DataFrame:
        """Records that are at several places, or not where their acknowledgement says: the acknowledgement, and all
        places.

        `right` is the number of the places `found` that are as acknowledged.
        """
        ours = self.fates.where("at IS NOT NULL AND seq >= 0")
        amiss = (F.col("result") == "OK") & (F.col("offset") >= 0) & ~F.col("here")
        few = ours.groupBy(*RECORD).agg(F.count("*").alias("n"), F.count_if(amiss).alias("amiss"))
        few = few.where("n > 1 OR amiss > 0").select(*RECORD)
        acknowledged = [F.any_value(name).alias(name) for name in ("result", "once", *PLACE, "offset")]
        place = F.struct("at.topic", "at.partition", "at.offset")
        return (
            ours.join(few, RECORD, "left_semi")
            .groupBy(*RECORD)
            .agg(*acknowledged, F.count_if("here").alias("right"), F.sort_array(F.collect_set(place)).alias("found"))
        )

    @cached_property
    def steps(self) -> DataFrame:
        """Breaks in the sequence of a replica's log: the offset before, the one after, the highest epoch before."""
        along = Window.partitionBy("node", *PLACE).orderBy("offset")
        ends = F.broadcast(self.expected.select("node", *PLACE, "end_offset"))
        log = self.replicas.select("node", *PLACE, "offset", "leader_epoch", *RECORD).withColumns(
            {
                "before": F.lag("offset").over(along),
                "after": F.lead("offset").over(along),
                "highest": F.max("leader_epoch").over(along.rowsBetween(Window.unboundedPreceding, -1)),
            }
        )
        log = log.join(ends, ["node", *PLACE], "left").withColumn("after", F.coalesce("after", "end_offset"))
        clash, gap = F.col("before") == F.col("offset"), F.col("after") > F.col("offset") + 1
        back = F.col("leader_epoch") < F.col("highest")
        return log.where(
            F.coalesce(clash, F.lit(False)) | F.coalesce(gap, F.lit(False)) | F.coalesce(back, F.lit(False))
        )

    @cached_property
    def turns(self) -> DataFrame:
        """Records received by consumers that were not the next offset: the offset before, and the highest so far."""
        along = Window.partitionBy("consumer", *PLACE).orderBy("number")
        polls = self.polls.withColumns(
            {
                "before": F.lag("offset").over(along),
                "highest": F.max("offset").over(along.rowsBetween(Window.unboundedPreceding, -1)),
            }
        )
        return polls.where((F.col("offset") <= F.col("highest")) | (F.col("offset") > F.col("before") + 1))


def nodes_sum() -> Column:
    """A sum over the nodes of a group's rows: equal for equal nodes, and cheaper to keep than their names."""
    return F.sum(F.hash("node").cast("long"))


def read_history(spark: SparkSession, path: Path) -> History:
    """Reads one run folder. Raises AnalysisError that names the folder."""
    run = read_run(spark, path)
    tables = {name: read_table(spark, path, name) for name in LATER}
    notes = [e["data"] for e in run.events if (e["kind"], e["name"]) == ("note", "replica")]
    expected = [(d["topic"], d["partition"], d["node"], d["end_offset"]) for d in notes]
    return History(
        path,
        run.manifest,
        run.events,
        run.acks.drop("run"),
        **tables,
        producers=spark.createDataFrame(producers(run.events), PRODUCERS),
        expected=spark.createDataFrame(expected, EXPECTED),
    )


def producers(events: list[dict[str, Any]]) -> list[tuple[str, bool, bool, bool, bool]]:
    """The columns of `History.producers`, from the producers' notes."""
    return [_producer(e["data"]) for e in events if (e["kind"], e["name"]) == ("note", "producer")]


def _producer(data: dict[str, Any]) -> tuple[str, bool, bool, bool, bool]:
    acks, final = str(data.get("acks", "all")), data.get("retries") == 0
    once = final or bool(data.get("idempotence", True))
    return data["producer"], acks in _WAITING, once, final, acks in _QUORUM


def faults(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events that a record's history shows: faults, changed settings, phases."""
    return [e for e in events if e["kind"] in ("fault", "config")]


def require_replicas(history: History) -> None:
    """Raises AnalysisError (exit code 3: unknown) if no replica of the run was read."""
    if history.expected.isEmpty():
        raise AnalysisError(
            f"{history.path} cannot be checked",
            observed="no replica's log was read back: " + json.dumps(sorted({e["name"] for e in history.events}))[:200],
            do="make the run with `rackspan soak`, or a scenario that reads back every replica at its end",
            code=3,
        )
