"""Many small histories as topics of one run folder, so that one pass of the checker evaluates them all."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spark_analysis.checker.expected_values import crcs
from spark_analysis.checker.facts import BUCKET_BITS
from spark_analysis.checker.history import read_history
from spark_analysis.checker.one_pass import evaluate
from spark_analysis.checker.runner import InProcess, Runner
from spark_analysis.input import schemas
from spark_analysis.tests import generated

Row = dict[str, Any]
Found = dict[str, dict[str, int]]  # numbers by topic and kind
TABLES = ("acks", "replicas", "partitions", "polls", "watermarks")
_ARROW = {"string": pa.string(), "int32": pa.int32(), "int64": pa.int64(), "double": pa.float64()}
REAL = Path(__file__).parent / "data" / "soak-cycle"


@dataclass
class Small:
    """A history of one topic as rows; `producers` and `read` are the notes of the run, `faults` its events."""

    acks: list[Row] = field(default_factory=list)
    replicas: list[Row] = field(default_factory=list)
    partitions: list[Row] = field(default_factory=list)
    polls: list[Row] = field(default_factory=list)
    watermarks: list[Row] = field(default_factory=list)
    reads: list[Row] = field(default_factory=list)  # with read_committed
    producers: list[Row] = field(default_factory=list)
    read: list[Row] = field(default_factory=list)
    notes: list[tuple[str, Row]] = field(default_factory=list)  # name, data
    faults: list[tuple[int, str, str, Row]] = field(default_factory=list)  # ns after the start, name, state, data

    def named(self, name: str) -> Small:
        """A copy of its own topic and producers."""
        own = copy.deepcopy(self)
        for row in (*own.acks, *own.replicas, *own.partitions, *own.polls, *own.watermarks, *own.reads, *own.read):
            row["topic"] = name
        noted = [row for _, data in own.notes for row in next(iter(data.values()))]
        for row in noted:
            row["topic"] = name
        for note in own.producers:
            _renamed(own.replicas, note["producer"], f"{name}/{note['producer']}", note.get("size", 0))
        of_producers = [row for row in noted if "producer" in row]
        for row in (*own.acks, *own.replicas, *own.polls, *own.reads, *own.producers, *of_producers):
            row["producer"] = f"{name}/{row['producer']}" if row["producer"] else ""
        for row in own.polls:
            row["consumer"] = f"{name}/{row['consumer']}"
        return own

    def end(self, node: str) -> Row:
        """The note of one replica."""
        return next(row for row in self.read if row["node"] == node)


def real(partition: int = 1) -> Small:
    """One partition of a real cycle: a rack paused, then a power cut of another, on a cluster of three racks."""
    tables = {name: pq.read_table(REAL / name).to_pylist() for name in TABLES}
    events = [json.loads(line) for line in (REAL / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    notes = {name: [e["data"] for e in events if e["name"] == name] for name in ("producer", "replica")}
    mine = {name: [r for r in rows if r["partition"] == partition] for name, rows in tables.items()}
    return Small(**mine, producers=notes["producer"], read=[r for r in notes["replica"] if r["partition"] == partition])


def folder(path: Path, parts: Iterable[Small]) -> Path:
    """All of them as one run folder."""
    parts = list(parts)
    generated.folder(path)
    for name in (*TABLES, "reads"):
        rows = [row for part in parts for row in getattr(part, name)]
        fields = schemas.contract()["tables"][name]["fields"]
        schema = pa.schema([pa.field(f["name"], _ARROW[f["type"]]) for f in fields])
        (path / name).mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema), path / name / "part-0.parquet")
    events = [generated.event(0, "note", "partitions-read", node="ctrl-1", complete=True)]
    for part in parts:
        events += [generated.event(0, "note", "producer", **row) for row in part.producers]
        events += [generated.event(0, "note", "replica", **row) for row in part.read]
        events += [generated.event(0, "note", kind, **data) for kind, data in part.notes]
        for topic in {row["topic"] for row in part.reads}:
            ends = {str(row["partition"]): row["end_offset"] for row in part.read}
            read = {"topic": topic, "end_offsets": ends, "complete": True, "isolation": "read_committed"}
            events.append(generated.event(0, "note", "read-back", **read))
        events += [generated.event(at, "fault", name, state, **data) for at, name, state, data in part.faults]
    events.sort(key=lambda e: e["t_ns"])
    (path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events), encoding="utf-8")
    return path


def _renamed(rows: list[Row], before: str, after: str, size: int) -> None:
    """Changes the checksums of a producer's values, which have its name in them."""
    mine = [row for row in rows if size and row["producer"] == before]
    seqs, dues = (np.array([row[name] for row in mine], np.int64) for name in ("seq", "due_ns"))
    if mine:
        change = crcs(before, size, seqs, dues) ^ crcs(after, size, seqs, dues)
        for row, bits in zip(mine, change.tolist(), strict=True):
            row["value_crc"] ^= bits


def crc(row: Row, size: int) -> int:
    """The checksum of the value that a producer writes."""
    return int(crcs(row["producer"], size, np.array([row["seq"]]), np.array([row["due_ns"]]))[0])


def evaluated(path: Path, runner: Runner | None = None, bits: int = BUCKET_BITS) -> tuple[Found, Found]:
    """Anomalies by topic and kind, and the same for those that settings allow."""
    both: tuple[Found, Found] = ({}, {})
    for (topic, kind, allowed), number in evaluate(
        read_history(path), runner or InProcess(), bits=bits
    ).found.counts.items():
        if number:
            both[allowed].setdefault(topic, {})[kind] = number
    return both
