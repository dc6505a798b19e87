"""The history of an anomaly's record and of its place in the log, from all tables of the run."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_analysis.checker.history import History, Row
from spark_analysis.locations import parquet


def with_histories(history: History, found: list[Row]) -> list[Row]:
    """Each anomaly with the history of its record and of its place in the log."""
    if not found:
        return []
    acks, replicas, polls = (_about(history.files[name], found) for name in ("acks", "replicas", "polls"))
    changes = sorted(history.partitions, key=lambda row: row["metadata_offset"])
    faults = [e for e in history.events if e["kind"] in ("fault", "config")]
    return [row | {"history": _history(row, acks, replicas, polls, changes, faults)} for row in found]


def _about(files: list[str], found: list[Row]) -> list[Row]:
    """The rows of a table about these records, or at these places; row groups without any are not read."""
    records: dict[str, list[int]] = {}
    places: dict[tuple[str, int], list[int]] = {}
    for row in found:
        if row["producer"] and row["seq"] is not None:
            records.setdefault(row["producer"], []).append(row["seq"])
        places.setdefault((row["topic"], row["partition"]), []).append(row["offset"])
    wanted = pc.scalar(False)
    for producer, seqs in records.items():
        wanted |= (pc.field("producer") == producer) & pc.field("seq").isin(pa.array(seqs, pa.int64()))
    for (topic, partition), offsets in places.items():
        there = pc.field("offset").isin(pa.array([at for at in offsets if at >= 0], pa.int64()))
        wanted |= (pc.field("topic") == topic) & (pc.field("partition") == partition) & there
    numbers = {"seq": list(chain(*records.values())), "offset": list(chain(*places.values()))}
    rows: list[Row] = []
    for file in files:
        opened = pq.ParquetFile(**parquet(file))
        for number in range(opened.num_row_groups):
            if _may_have(opened.metadata.row_group(number), numbers):
                rows += opened.read_row_group(number).filter(wanted).to_pylist()
    return rows


def _may_have(group: Any, wanted: dict[str, list[int]]) -> bool:
    """False if the smallest and largest value of each of these columns say that none of the numbers is in the group."""
    for column in (group.column(i) for i in range(group.num_columns)):
        numbers, stats = wanted.get(column.path_in_schema), column.statistics
        if numbers is not None and (
            not stats or not stats.has_min_max or any(stats.min <= number <= stats.max for number in numbers)
        ):
            return True
    return False


def _history(
    anomaly: Row, acks: list[Row], replicas: list[Row], polls: list[Row], changes: list[Row], events: list[Row]
) -> list[Row]:
    """Events of the record and of its offset, in order of time; lines without a time come last."""
    key = (anomaly["producer"], anomaly["seq"])
    spot = (anomaly["topic"], anomaly["partition"], anomaly["offset"])

    def mine(row: dict[str, Any]) -> bool:
        return key == (row["producer"], row["seq"]) or spot == (row["topic"], row["partition"], row["offset"])

    lines: list[dict[str, Any]] = []
    for row in filter(mine, acks):
        name = f"{row['producer']} {row['seq']}"
        lines.append({"t_ns": row["sent_ns"], "what": f"{name} sent to {row['topic']}-{row['partition']}"})
        answer = f"{name}: {row['result']} {row['cause']}".rstrip() + f", offset {row['offset']}"
        lines.append({"t_ns": row["done_ns"] or None, "what": answer if row["done_ns"] else f"{name}: no answer"})
    begin = min((line["t_ns"] for line in lines if line["t_ns"]), default=0)
    here = [c for c in changes if (c["topic"], c["partition"]) == spot[:2]]
    before = [c for c in here if c["t_ns"] <= begin][-1:]
    for c in before + [c for c in here if c["t_ns"] > begin]:
        state = f"leader {c['leader']} of epoch {c['leader_epoch']}, in sync [{c['isr']}], eligible [{c['elr']}]"
        need = f"spanning {c['isr_racks']} racks where {c['min_racks']} are required"
        lines.append({"t_ns": c["t_ns"], "what": f"{c['topic']}-{c['partition']}: {state}, {need}"})
    for e in events:
        if e["t_ns"] >= begin:
            lines.append({"t_ns": e["t_ns"], "what": _event(e, spot)})
    for row in filter(mine, polls):
        what = f"{row['consumer']} received {row['producer']} {row['seq']} at offset {row['offset']}"
        lines.append({"t_ns": row["read_ns"], "what": what})
    lines.sort(key=lambda line: (line["t_ns"] is None, line["t_ns"] or 0))
    for row in sorted(filter(mine, replicas), key=lambda r: (r["topic"], r["partition"], r["offset"], r["node"])):
        where = f"{row['topic']}-{row['partition']} offset {row['offset']} of epoch {row['leader_epoch']}"
        lines.append({"t_ns": None, "what": f"at the end on {row['node']}: {where} is {row['producer']} {row['seq']}"})
    if not any(map(mine, replicas)):
        lines.append({"t_ns": None, "what": "at the end on no replica"})
    return lines


def _event(event: dict[str, Any], spot: tuple[Any, ...]) -> str:
    data = event["data"]
    text = f"{event['kind']} {event['name']} {event['state']}"
    if "logs" not in data:
        return text + "".join(f", {k} {v}" for k, v in data.items() if k != "ids")
    cut = [c for c in data["logs"] if (c["topic"], c["partition"]) == spot[:2]]
    return f"{text}, {data['node']}: " + ", ".join(f"offsets {c['flushed']} to {c['end'] - 1} lost" for c in cut)
