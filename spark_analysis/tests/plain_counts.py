"""The raw data of a benchmark counted in plain Python: the same as Spark counts (test_plain_counts.py), and sooner.

Tests of what follows from the counts take them from here.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from spark_analysis.input.blocks import finished_blocks
from spark_analysis.input.folders import Folder, read_folder
from spark_analysis.report import document
from spark_analysis.report.benchmark import page_section
from spark_analysis.report.benchmark.raw import AROUND_BUCKET_NS, Raw, kept_events
from spark_analysis.tests import plain_ideal
from spark_analysis.tests.generated import SECOND, rows_of

Row = dict[str, Any]
_PLACE = [("block", pa.int32()), ("part", pa.string())]
_COUNTED = [("value", pa.float64()), ("records", pa.int64())]
LATENCIES = pa.schema([*_PLACE, ("outcome", pa.string()), ("cause", pa.string()), *_COUNTED, ("max_us", pa.int64())])
LAGS = pa.schema([*_PLACE, ("quarter", pa.int64()), *_COUNTED])
RECEIVED = pa.schema([*_PLACE, *_COUNTED])
IDEAL = pa.schema([*_PLACE, ("measure", pa.string()), *_COUNTED])


def section(path: Path) -> Row:
    """A benchmark's part of the document."""
    return page_section.section(raw(path)).data


def part(path: Path) -> Row:
    """A run's part of the document."""
    return document.part(raw(path)).data


def raw(path: Path) -> Raw:
    """The raw data of a benchmark that keeps its records."""
    folder = read_folder(path)
    manifest, acks = folder.manifest, rows_of(path, "acks")
    known = finished_blocks(folder.id, folder.events)
    inside = _inside(known, acks)
    workload = manifest["spec"]["workload"]
    fetches = rows_of(path, "fetches")
    ideal = plain_ideal.counted(inside, fetches, manifest["spec"], folder.events) if fetches else None
    return Raw(
        manifest={name: manifest[name] for name in document.MANIFEST},
        events=kept_events(folder.events),
        exact=True,
        latencies=_table(_latencies(inside), LATENCIES),
        send_lags=_table(_send_lags(inside), LAGS),
        received=_table(_received(inside, rows_of(path, "polls")), RECEIVED) if workload.get("consume") else None,
        ideal=None if ideal is None else _table(ideal, IDEAL),
        overwritten=_overwritten(acks),
        silences=_silences(known, acks) if workload["fault"] else [],
        around=_around(folder, known, acks) if workload["fault"] else [],
    )


def _table(rows: list[Row], schema: pa.Schema) -> pa.Table:
    table = pa.Table.from_pylist(rows, schema)
    return table.sort_by([(name, "ascending") for name in schema.names if name != "records"])


def _inside(known: list[Row], acks: list[Row]) -> list[tuple[Row, Row]]:
    """Each record that was due inside a part of a block, and that part."""
    of: dict[str, list[Row]] = {}
    for block in known:
        of.setdefault(block["producer"], []).append(block)
    return [
        (block, row)
        for row in acks
        for block in of.get(row["producer"], [])
        if block["begin_mono_ns"] <= row["due_mono_ns"] < block["end_mono_ns"]
    ]


def _is_answered(row: Row) -> bool:
    return bool(row["result"] == "OK" and row["done_ns"] > 0)


def _latencies(inside: list[tuple[Row, Row]]) -> list[Row]:
    found: Counter[tuple[Any, ...]] = Counter()
    for block, row in inside:
        outcome = row["result"] if row["done_ns"] else "UNANSWERED"
        us = (row["done_ns"] - row["due_ns"]) // 1000 if outcome == "OK" else None
        found[block["block"], block["part"], outcome, row["cause"], us, us] += 1
    names = ("block", "part", "outcome", "cause", "value", "max_us")
    return [dict(zip(names, key, strict=True)) | {"records": n} for key, n in found.items()]


def _send_lags(inside: list[tuple[Row, Row]]) -> list[Row]:
    found: Counter[tuple[Any, ...]] = Counter()
    for block, row in inside:
        begin, end = block["begin_mono_ns"], block["end_mono_ns"]
        quarter = 4 * (row["due_mono_ns"] - begin) // (end - begin)
        found[block["block"], block["part"], quarter, (row["sent_ns"] - row["due_ns"]) // 1000] += 1
    names = ("block", "part", "quarter", "value")
    return [dict(zip(names, key, strict=True)) | {"records": n} for key, n in found.items()]


def _received(inside: list[tuple[Row, Row]], polls: list[Row]) -> list[Row]:
    first: dict[tuple[str, int], int] = {}
    for poll in polls:
        key = (poll["producer"], poll["seq"])
        first[key] = min(poll["read_ns"], first.get(key, poll["read_ns"]))
    found: Counter[tuple[Any, ...]] = Counter()
    for block, row in inside:
        if (row["producer"], row["seq"]) in first:
            us = (first[row["producer"], row["seq"]] - row["due_ns"]) // 1000
            found[block["block"], block["part"], us] += 1
    names = ("block", "part", "value")
    return [dict(zip(names, key, strict=True)) | {"records": n} for key, n in found.items()]


def _overwritten(acks: list[Row]) -> dict[str, int]:
    at_place: dict[tuple[Any, ...], set[int]] = {}
    for row in acks:
        if _is_answered(row) and row["offset"] >= 0:
            place = (row["producer"], row["topic"], row["partition"], row["offset"])
            at_place.setdefault(place, set()).add(row["seq"])
    lost: Counter[str] = Counter()
    for (producer, *_), at in at_place.items():
        lost[producer] += len(at) - 1
    return {producer: n for producer, n in lost.items() if n}


def _silences(known: list[Row], acks: list[Row]) -> list[Row]:
    found = []
    for block in known:
        begin, end = block["begin_mono_ns"], block["end_mono_ns"]
        mine = [row for row in acks if row["producer"] == block["producer"] and _is_answered(row)]
        done = [row["done_ns"] - row["due_ns"] + row["due_mono_ns"] for row in mine]
        times = sorted([begin, end, *(at for at in done if begin <= at <= end)])
        longest = max(after - before for before, after in pairwise(times))
        names = ("pair", "block", "mode", "role", "part")
        found.append({name: block[name] for name in names} | {"silence_s": longest / 1e9})
    return found


def _around(folder: Folder, known: list[Row], acks: list[Row]) -> list[Row]:
    after_ns = int(folder.manifest["spec"]["workload"]["fault"]["recover"] * SECOND)
    found: dict[tuple[int, str, int], list[float]] = {}
    for block in known:
        begin, until = block["begin_mono_ns"], block["end_mono_ns"] + after_ns
        for row in acks if block["part"] == "fault" else []:
            if row["producer"] != block["producer"] or not _is_answered(row):
                continue
            if begin - 5 * SECOND <= row["due_mono_ns"] < until:
                bucket = (row["due_mono_ns"] - begin) // AROUND_BUCKET_NS
                us = (row["done_ns"] - row["due_ns"]) / 1000
                found.setdefault((block["pair"], block["role"], bucket), []).append(us)
    names = ("pair", "role", "bucket")
    return [
        dict(zip(names, key, strict=True)) | {"p50_us": median(us), "max_us": max(us)}
        for key, us in sorted(found.items())
    ]
