"""The durability part of the document: acknowledged records against what was read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from spark_analysis.input.ingest import Run
from spark_analysis.report.collected import collected, rows
from spark_analysis.transforms import durability as fates_of

LOST_SHOWN = 20
_COLLECTED = 100_000  # lost records that are held in memory; more are written by Spark, and computed for that once more
_NOTES = ("read-back", "producer")
_TOTALS = ("acknowledged", "lost", "duplicates", "moved", "reordered", "present_though_not_acknowledged")


def durability(run: Run, topics: Iterable[str]) -> tuple[dict[str, Any], Mapping[str, DataFrame | pa.Table]]:
    """Lost, duplicated, moved and reordered records of those of the sent `topics` that were read to their end, as the
    document has it; and the tables behind it.
    """
    notes = read_backs(run.events)
    short = short_reads(notes, rows(fates_of.last_read(run.reads)))
    read = {t for t, d in notes.items() if d["complete"]} - {r["topic"] for r in short}
    unchecked = sorted(set(topics) - read)
    fates = fates_of.fates(run.acks, run.reads, sorted(read))
    table = collected(fates_of.summary(fates), "producer")
    late = {r["producer"]: r["reordered"] for r in rows(fates_of.reordered(run.reads))}
    settings = {e["data"]["producer"]: e["data"] for e in run.events if (e["kind"], e["name"]) == ("note", "producer")}
    producers = table.to_pylist()
    for row in producers:
        row["reordered"] = late.get(row["producer"], 0)
        requested = str(settings.get(row["producer"], {}).get("acks", "not recorded"))
        row["acks"] = {"-1": "all", "-2": "min.insync.replicas"}.get(requested, requested)
    totals = {key: sum(row[key] for row in producers) for key in _TOTALS}
    lost: DataFrame | pa.Table = fates_of.lost(fates)
    if totals["lost"] > _COLLECTED:
        first = rows(lost.orderBy("due_ns").limit(LOST_SHOWN))
    else:
        lost = collected(lost if totals["lost"] else lost.limit(0), "due_ns", "producer", "seq")
        first = lost.slice(0, LOST_SHOWN).to_pylist()
    data = {
        "state": "not checked" if not read else "checked" if not unchecked else "checked in part",
        "unchecked_topics": unchecked,
        "short_reads": short,
        "producers": producers,
        "totals": totals,
        "phantoms": fates_of.phantoms(run.reads, run.acks).count(),
        "lost_first": first,
    }
    return data, {"durability": table, "lost": lost}


def read_backs(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The data of the notes of read-backs by topic, without those that skipped acknowledged records."""
    data = {name: [e["data"] for e in events if (e["kind"], e["name"]) == ("note", name)] for name in _NOTES}
    in_part = {note.get("topic") for note in data["producer"] if note.get("transaction_records")}
    notes = data["read-back"]
    return {n["topic"]: n for n in notes if n["topic"] not in in_part or n.get("isolation") != "read_committed"}


def short_reads(notes: Mapping[str, Mapping[str, Any]], last: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Partitions whose last record before the end offset was not read, in order.

    `notes`: the data of the notes of read-backs by topic; `last`: rows of transforms/durability.py last_read.
    """
    observed = {(row["topic"], row["partition"]): row["last"] for row in last}
    ends = sorted((topic, int(p), int(end)) for topic, data in notes.items() for p, end in data["end_offsets"].items())
    return [
        {"topic": topic, "partition": partition, "end_offset": end, "last": observed.get((topic, partition))}
        for topic, partition, end in ends
        if end > 0 and observed.get((topic, partition), -1) < end - 1
    ]
