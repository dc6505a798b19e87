"""Rows of the large tables on their way to the bucket that evaluates them: partition and offset, 2^20 offsets each.

A file is read in row groups, wherever a task runs; each row group becomes a few pieces of NumPy columns.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from spark_analysis.checker.columns import Array, Piece, among, piece
from spark_analysis.checker.facts import REFUSED, Facts
from spark_analysis.checker.totals import Totals, silences
from spark_analysis.input.folders import reading
from spark_analysis.locations import parquet

ROWS = 1 << 20  # of a table that are in memory at a time
NAMES = {
    "acks": ("producer", "topic", "result"),
    "replicas": ("node", "topic", "producer"),
    "polls": ("consumer", "topic", "producer"),
}
_NUMBERS = {
    "acks": ("seq", "partition", "offset", "due_ns", "sent_ns", "done_ns", "due_mono_ns"),
    "replicas": (
        *("partition", "offset", "leader_epoch", "seq", "due_ns", "timestamp_ms"),
        *("value_crc", "batch_crc", "control"),
    ),
    "polls": ("number", "partition", "offset", "seq"),
}
NOWHERE = ("", -1)  # the place of records without an offset


class Task(NamedTuple):
    """A row group of a table."""

    table: str
    path: str
    row_group: int


class Key(NamedTuple):
    """A bucket."""

    topic: str
    partition: int
    bucket: int


Batch = tuple[dict[str, Array], dict[str, list[str]]]  # columns; what the codes in those of names stand for


def batches(task: Task) -> Iterator[Batch]:
    """The rows of a task, some at a time."""
    names, numbers = NAMES[task.table], _NUMBERS[task.table]
    chosen = {"row_groups": [task.row_group], "columns": [*names, *numbers], "use_threads": False}
    with reading(task.path):
        file = pq.ParquetFile(**parquet(task.path), read_dictionary=list(names))
        for batch in file.iter_batches(ROWS, **chosen):
            coded = {name: batch.column(name) for name in names}
            columns = {name: batch.column(name).to_numpy() for name in numbers}
            columns |= {name: column.indices.to_numpy() for name, column in coded.items()}
            yield columns, {name: column.dictionary.to_pylist() for name, column in coded.items()}


def to_buckets(task: Task, facts: Facts, wanted: frozenset[Key] | None = None) -> Iterator[tuple[Key, Piece | Totals]]:
    """The pieces of a task with their buckets; only those of the buckets that are wanted, where some are named."""
    for number, (columns, names) in enumerate(batches(task)):
        nowhere = Key(*NOWHERE, zlib.crc32(f"{task.path} {task.row_group} {number}".encode()))
        if task.table == "acks":
            columns["shift"] = columns.pop("due_mono_ns") - columns["due_ns"]
            ok = among(columns["result"], names["result"], ("OK",))
            placed = ok & (columns["offset"] >= 0) & (columns["partition"] >= 0)
            if wanted is None:
                yield nowhere, _totals(columns, names, ok, facts)
                if not placed.all():
                    yield nowhere, piece("acks", columns, names, ~placed)
            columns = columns if placed.all() else {name: column[placed] for name, column in columns.items()}
            del columns["result"]
        for key, node, at in _split(task.table, columns, names, facts.bits):
            if wanted is None or key in wanted:
                rest = {name: column for name, column in columns.items() if name not in ("topic", "partition", "node")}
                yield key, _piece(task.table, rest, names, at, node, key.bucket << facts.bits)


def _piece(table: str, columns: dict[str, Array], names: dict[str, list[str]], at: Any, node: str, base: int) -> Piece:
    chosen = {name: column[at] for name, column in columns.items()}
    chosen["offset"] = (chosen["offset"] - base).astype(np.int32)
    for name in ("value_crc", "batch_crc"):
        if name in chosen:
            chosen[name] = chosen[name].astype(np.uint32)
    if "control" in chosen:
        chosen["control"] = chosen["control"].astype(np.int8)
    return piece(table, chosen, names, None, node)


def _split(
    table: str, columns: dict[str, Array], names: dict[str, list[str]], bits: int
) -> Iterator[tuple[Key, str, Array | slice]]:
    """Rows of one bucket each, and of one node each."""
    if not len(columns["offset"]):
        return
    parts = [columns["topic"], columns["partition"], columns["offset"] >> bits]
    parts += [columns["node"]] if table == "replicas" else []
    for values, at in split(parts):
        node = names["node"][values[3]] if table == "replicas" else ""
        yield Key(names["topic"][values[0]], values[1], values[2]), node, at


def split(parts: list[Array]) -> Iterator[tuple[list[int], Array | slice]]:
    """The rows of each combination of values of these columns, in their order."""
    lows = [int(part.min()) for part in parts]
    spans = [int(part.max()) - low + 1 for part, low in zip(parts, lows, strict=True)]
    if max(spans) == 1:
        yield lows, slice(None)
        return
    code = np.zeros(len(parts[0]), np.int64)
    for part, low, span in zip(parts, lows, spans, strict=True):
        code = code * span + (part - low)
    small = float(np.prod([float(span) for span in spans])) < 1 << 16
    if small:
        order = np.argsort(code.astype(np.uint16), kind="stable")  # a radix sort
        ends = np.cumsum(np.bincount(code))
        found = [at for at in np.split(order, ends[:-1]) if len(at)]
    else:
        order = np.argsort(code, kind="stable")
        found = np.split(order, np.flatnonzero(np.diff(code[order])) + 1)
    for at in found:
        together = int(at[-1]) - int(at[0]) + 1 == len(at)
        yield [int(part[at[0]]) for part in parts], slice(int(at[0]), int(at[-1]) + 1) if together else at


def _totals(columns: dict[str, Array], names: dict[str, list[str]], ok: Array, facts: Facts) -> Totals:
    refused = among(columns["result"], names["result"], REFUSED)
    settings = facts.settings(names["producer"])
    quorum, by_set = (settings[name][columns["producer"]] for name in ("quorum", "by_set"))
    numbers = {
        "sent": len(ok),
        "acknowledged": int(ok.sum()),
        "refused": int(refused.sum()),
        "unknown": int((~ok & ~refused).sum()),
        "acknowledged_by_quorum": int((ok & quorum).sum()),
        "acknowledged_by_set": int((ok & by_set).sum()),
    }
    places = split([columns["topic"], columns["partition"]]) if len(ok) else ()
    known = frozenset((names["topic"][topic], partition) for (topic, partition), _ in places)
    return Totals(numbers, known, silences(columns["done_ns"][ok]))


def by_consumer(task: Task, wanted: frozenset[tuple[str, str, int]]) -> Iterator[tuple[tuple[str, str, int], Piece]]:
    """The rows of these consumers at these places, as they are."""
    for columns, names in batches(task):
        for (consumer, topic, partition), at in split([columns["consumer"], columns["topic"], columns["partition"]]):
            key = (names["consumer"][consumer], names["topic"][topic], partition)
            if key in wanted:
                yield key, piece("polls", columns, names, at)


def of_records(
    task: Task, wanted: dict[str, Array], slot: Callable[[list[str], Array, Array], Array]
) -> Iterator[tuple[int, Piece]]:
    """The acks rows of these records (sequences by producer), and the slot of each."""
    for columns, names in batches(task):
        columns["shift"] = columns.pop("due_mono_ns") - columns["due_ns"]
        mine = np.zeros(len(columns["seq"]), bool)
        for code, name in enumerate(names["producer"]):
            if name in wanted:
                at = columns["producer"] == code
                mine[at] = np.isin(columns["seq"][at], wanted[name])
        if mine.any():
            chosen = {name: column[mine] for name, column in columns.items()}
            for (value,), at in split([slot(names["producer"], chosen["producer"], chosen["seq"])]):
                yield value, piece("acks", chosen, names, at)


def tasks(table: str, paths: list[str]) -> list[Task]:
    """The row groups of these files."""
    return [Task(table, path, n) for path in paths for n in range(pq.ParquetFile(**parquet(path)).num_row_groups)]
