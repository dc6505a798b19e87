"""The logs of all replicas in one bucket, offset by offset: what they agree on, and the rows where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spark_analysis.checker import expected_values
from spark_analysis.checker.columns import Array, Names, Piece, Rows, groups, rows
from spark_analysis.checker.facts import Facts

TYPES = {
    "offset": "int32",
    "leader_epoch": "int32",
    "producer": "int32",
    "seq": "int64",
    "due_ns": "int64",
    "timestamp_ms": "int64",
    "value_crc": "uint32",
    "batch_crc": "uint32",
    "control": "int8",
}
SPOT = ("offset", "producer", "seq", "due_ns", "leader_epoch", "control")
_PLACE = SPOT[:4]
_CONTENT = ("value_crc", "batch_crc", "timestamp_ms")


@dataclass(frozen=True)
class BucketLog:
    """`by_offset` has, for each offset, the record of the replicas that agree, or that of one where only copies, bytes
    or epochs differ; `has` says where there is one, `several` where replicas have different records. `odd`: all rows
    at offsets where replicas differ or lack something, and `differs` where that is. `nodes`: rows by node.
    """

    width: int
    nodes: dict[str, Rows]
    expected: tuple[str, ...]
    producers: Names
    by_offset: dict[str, Array]
    present: Array
    has: Array
    several: Array
    differs: Array
    odd: Rows

    @cached_property
    def spots(self) -> Rows:
        """The distinct records at odd offsets with `copies`, and `same`: whether their bytes are equal."""
        order, begins = groups(*(self.odd[name] for name in SPOT))
        columns = {name: self.odd[name][order][begins] for name in SPOT}
        columns["copies"] = np.diff(np.r_[begins, len(order)])
        columns["same"] = np.ones(len(begins), bool)
        for name in _CONTENT if len(begins) else ():
            ordered = self.odd[name][order]
            columns["same"] &= np.minimum.reduceat(ordered, begins) == np.maximum.reduceat(ordered, begins)
        return Rows(len(begins), columns, self.odd.names)

    @cached_property
    def places(self) -> Rows:
        """Offset, producer, sequence and due time at offsets where replicas have different records; no markers."""
        mine = self.spots.only((self.spots["control"] == 0) & self.several[self.spots["offset"]])
        order, begins = groups(*(mine[name] for name in _PLACE))
        return mine.only(order[begins])

    @cached_property
    def records(self) -> Rows:
        """Every record and place, in order of offsets: producer, sequence, offset, without markers."""
        at = np.flatnonzero(self.has)
        columns = {name: self.by_offset[name][at] for name in ("producer", "seq", "due_ns")} | {"offset": at}
        if self.places.size:
            columns = {name: np.r_[column, self.places[name]] for name, column in columns.items()}
            order = np.argsort(columns["offset"], kind="stable")
            columns = {name: column[order] for name, column in columns.items()}
        return Rows(len(columns["offset"]), columns, self.odd.names)

    def wrong_values(self, facts: Facts) -> tuple[Array, Array]:
        """Offsets at which a value has another checksum than the one its producer writes, and how many could be
        compared.
        """
        wrong, known = np.zeros(self.width, bool), np.zeros(self.width, bool)
        at = np.flatnonzero(self.has & ~self.differs)
        columns = {name: self.by_offset[name][at] for name in ("producer", "seq", "due_ns", "value_crc")}
        odd = self.odd.only(self.odd["control"] == 0)
        for offsets, table in ((at, columns), (odd["offset"], odd.columns)):
            for code in np.unique(table["producer"]).tolist():
                name = self.producers.all[code]
                size = facts.settings_of(name).size
                if not expected_values.known(name, size):
                    continue
                mine = slice(None) if len(self.producers.all) == 1 else np.flatnonzero(table["producer"] == code)
                good = expected_values.crcs(name, size, table["seq"][mine], table["due_ns"][mine])
                known[offsets[mine]] = True
                wrong[offsets[mine][good != table["value_crc"][mine]]] = True
        return wrong, known


def bucket_log(pieces: Sequence[Piece], width: int, expected: tuple[str, ...], producers: Names) -> BucketLog:
    """Lays the logs of all replicas side by side; offsets count from the begin of the bucket."""
    by_node: dict[str, list[Piece]] = {}
    for one in pieces:
        by_node.setdefault(one.node, []).append(one)
    nodes = {node: _sorted(rows(mine, TYPES, {"producer": producers})) for node, mine in sorted(by_node.items())}
    by_offset = {name: np.zeros(width, type_) for name, type_ in TYPES.items() if name != "offset"}
    copies, differs = np.zeros(width, np.int16), np.zeros(width, bool)
    for rows_of_node in nodes.values():
        _lay(rows_of_node, by_offset, copies, differs)
    present = copies > 0
    differs |= present & (copies != len({*nodes, *expected}))
    odd = _odd(nodes, differs, producers)
    has = present & ~differs & (by_offset["control"] == 0)
    log = BucketLog(width, nodes, expected, producers, by_offset, present, has, np.zeros(width, bool), differs, odd)
    _single_records(log)
    return log


def _sorted(log: Rows) -> Rows:
    steps = np.diff(log["offset"])
    return log if (steps >= 0).all() else log.only(np.argsort(log["offset"], kind="stable"))


def _lay(log: Rows, by_offset: dict[str, Array], copies: Array, differs: Array) -> None:
    """Adds one log: fills in what is not there yet, and compares the rest."""
    offsets = log["offset"]
    again = np.flatnonzero(np.diff(offsets) == 0) + 1
    if len(again):
        differs[offsets[again]] = True
        log = log.only(np.delete(np.arange(log.size), again))
        offsets = log["offset"]
    if not len(offsets):
        return
    begin, end = int(offsets[0]), int(offsets[-1]) + 1
    at: Array | slice = slice(begin, end) if end - begin == len(offsets) else offsets
    there = copies[at] > 0
    for name, column in by_offset.items():
        if there.all():
            differs[at] |= column[at] != log[name]
        elif not there.any():
            column[at] = log[name]
        else:
            differs[at] |= there & (column[at] != log[name])
            column[at] = np.where(there, column[at], log[name])
    copies[at] += 1


def _odd(nodes: dict[str, Rows], differs: Array, producers: Names) -> Rows:
    """All rows at those offsets, with the number of their node in order of names."""
    parts = []
    for number, log in enumerate(nodes.values()):
        mine = log.only(differs[log["offset"]])
        parts.append(mine.columns | {"node": np.full(mine.size, number, np.int32)})
    types = TYPES | {"node": "int32"}
    columns = {
        name: np.concatenate([part[name] for part in parts]) if parts else np.empty(0, type_)
        for name, type_ in types.items()
    }
    return Rows(len(columns["offset"]), columns, {"producer": producers.all})


def _single_records(log: BucketLog) -> None:
    """Fills in the odd offsets at which there is one record only, and marks those with several."""
    spots = log.spots.only(log.spots["control"] == 0)
    order, begins = groups(*(spots[name] for name in _PLACE))
    first = spots.only(order[begins])
    number = np.bincount(first["offset"], minlength=log.width)
    log.several[:] = number > 1
    single = first.only(number[first["offset"]] == 1)
    log.has[single["offset"]] = True
    for name in _PLACE[1:]:
        log.by_offset[name][single["offset"]] = single[name]
