"""Run folders and rows made by hand; the contract file gives the types, nothing of the harness is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analysis.input import schemas, spark_schemas
from spark_analysis.input.ingest import BLOCKS

SECOND = 1_000_000_000
MS = 1_000_000
START = 1_800_000_000 * SECOND
_ARROW = {"string": pa.string(), "int32": pa.int32(), "int64": pa.int64(), "double": pa.float64()}


def ack(seq: int, due_ns: int, latency_ns: int | None, **changes: Any) -> dict[str, Any]:
    """One acks row; latency None is no answer. Offsets follow the sequence."""
    row: dict[str, Any] = {
        "producer": "p",
        "seq": seq,
        "topic": "t",
        "partition": 0,
        "offset": -1 if latency_ns is None else seq,
        "due_ns": START + due_ns,
        "sent_ns": START + due_ns + 1000,
        "done_ns": 0 if latency_ns is None else START + due_ns + latency_ns,
        "due_mono_ns": due_ns,
        "result": "" if latency_ns is None else "OK",
        "cause": "",
    }
    if "result" in changes and changes["result"] != "OK":
        row["offset"] = -1
    return {**row, **changes}


def read(seq: int, **changes: Any) -> dict[str, Any]:
    """One reads row at the offset of the sequence."""
    row: dict[str, Any] = {"topic": "t", "partition": 0, "offset": seq, "producer": "p", "seq": seq}
    return {**row, "timestamp_ms": 1, "read_ns": 1, **changes}


def event(at_ns: int, kind: str, name: str, state: str = "point", /, **data: Any) -> dict[str, Any]:
    """One event, at_ns after the start."""
    return {"t_ns": START + at_ns, "mono_ns": at_ns, "kind": kind, "name": name, "state": state, "data": data}


def frame(spark: SparkSession, table: str, rows: list[dict[str, Any]], run: str = "r") -> DataFrame:
    """Rows as a DataFrame with the run column in front, as ingest gives it."""
    schema = spark_schemas.table(table)
    data = [tuple(row[name] for name in schema.names) for row in rows]
    return spark.createDataFrame(data, schema).select(F.lit(run).alias("run"), *schema.names)


def window(begin_ns: int, end_ns: int, **changes: Any) -> dict[str, Any]:
    """One row of the blocks of a run, from times as the rows of acks have them; columns that are not named are null."""
    row = {"run": "r", "producer": "p", "mode": "m", "role": "candidate", "block": 0, "pair": 0, "part": "quiet"}
    return {**row, "begin_mono_ns": begin_ns - START, "end_mono_ns": end_ns - START, **changes}


def windows(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    """Blocks as `ingest.blocks` gives them."""
    return spark.createDataFrame(list(rows), BLOCKS)


def manifest(path: Path, **changes: Any) -> dict[str, Any]:
    """A complete manifest."""
    values: dict[str, Any] = {
        "schema_version": schemas.version(),
        "run_id": path.name,
        "name": path.name,
        "kind": "other",
        "state": "finished",
        "started_ns": START,
        "ended_ns": START + 60 * SECOND,
        "failure": "",
        "clock": {"epoch_ns": START, "mono_ns": 0},
        "seed": 7,
        "plan": {},
        "spec": {"racks": "a:2,b:2,c:2"},
        "versions": {"kafka": "4.3.1"},
        "patches": ["kip-min-insync-racks"],
        "host": {"cpus": 2},
    }
    return {**values, **changes}


def folder(
    path: Path,
    *,
    acks: list[dict[str, Any]] | None = None,
    reads: list[dict[str, Any]] | None = None,
    metrics: list[dict[str, Any]] | None = None,
    fetches: list[dict[str, Any]] | None = None,
    events: list[dict[str, Any]] | None = None,
    **changes: Any,
) -> Path:
    """Writes a run folder."""
    for table, rows in (("acks", acks), ("reads", reads), ("metrics", metrics), ("fetches", fetches)):
        (path / table).mkdir(parents=True)
        write(path, table, rows or [])
    (path / "manifest.json").write_text(json.dumps(manifest(path, **changes)))
    (path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events or []))
    return path


def rows_of(path: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table of a run folder."""
    return [row for file in sorted((path / table).glob("*.parquet")) for row in pq.read_table(file).to_pylist()]


def write(path: Path, table: str, rows: list[dict[str, Any]]) -> None:
    """Writes these rows in the place of the table's."""
    fields = schemas.contract()["tables"][table]["fields"]
    (path / table).mkdir(exist_ok=True)
    for file in (path / table).glob("*.parquet"):
        file.unlink()
    schema = pa.schema([pa.field(f["name"], _ARROW[f["type"]]) for f in fields])
    if rows:
        pq.write_table(pa.Table.from_pylist(rows, schema), path / table / "part-0.parquet")


def add_event(path: Path, row: dict[str, Any]) -> None:
    """Adds an event at the end of a run folder's."""
    with (path / "events.jsonl").open("a") as out:
        out.write(json.dumps(row) + "\n")


LOST_A = {
    "racks": ["a"],
    "topics": {"t": {"writable": "no", "readable": "yes", "safe": "yes", "reason": "1 <rack> is left"}},
}
LOST_BOTH = {
    "racks": ["a", "b"],
    "topics": {"t": {"writable": "no", "readable": "unknown", "safe": "no", "reason": ""}},
}


def outage_run(path: Path, **changes: Any) -> Path:
    """30 s at 50 records/s: rack b down at 10 s, refused from 12 s, lowered at 20 s, acknowledged from 20.5 s on.

    The rack is back at 24 s, in sync at 26 s, the setting restored at 27 s. One acknowledged record is lost, one is
    there twice, one refused one is there.
    """
    rows, reads = [], []
    for seq in range(1500):
        at = seq * 20 * MS
        if 12 * SECOND <= at < 20 * SECOND:
            rows.append(ack(seq, at, 5 * MS, result="TIMEOUT", cause="NOT_ENOUGH_RACKS"))
        elif 20 * SECOND <= at < 20 * SECOND + 500 * MS:
            rows.append(ack(seq, at, 20 * SECOND + 500 * MS - at))
        else:
            rows.append(ack(seq, at, 4 * MS))
        if rows[-1]["result"] == "OK" and seq != 100:
            reads.append(read(seq))
    reads += [read(200, offset=1500), read(700)]
    events = [
        event(0, "note", "producer", producer="p", acks="all", rate=50),
        event(0, "note", "predicted-losses", losses=[LOST_A, LOST_BOTH]),
        event(10 * SECOND, "fault", "rack_down b", "begin", nodes=["b1", "b2"]),
        event(20 * SECOND, "config", "min.insync.racks", "point", topic="t", **{"from": 2, "to": 1}),
        event(24 * SECOND, "fault", "rack_down b", "end", nodes=["b1", "b2"]),
        event(26 * SECOND, "note", "isr-restored", topic="t"),
        event(27 * SECOND, "config", "min.insync.racks", "point", topic="t", **{"from": 1, "to": 2}),
        event(31 * SECOND, "note", "read-back", topic="t", end_offsets={"0": 1501}, complete=True),
    ]
    metrics = [
        {
            "t_ns": START + s * SECOND,
            "node": "b1",
            "rack": "a",
            "name": "kafka_cluster_Partition_IsrRackCount",
            "labels": '{"topic": "t"}',
            "value": 1.0 if 12 <= s < 26 else 2.0,
        }
        for s in range(30)
    ]
    parts: dict[str, Any] = {"acks": rows, "reads": reads, "events": events, "metrics": metrics, "kind": "outage"}
    return folder(path, **{**parts, **changes})
