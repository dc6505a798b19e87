"""Records whose acknowledgement and place do not match, joined by producer and sequence: lost, moved, repeated, late.

A record in the log without an acknowledgement among these may have one that matches another place of it: such records
are handed back in the first round, and come again with their acknowledgements from the table.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from spark_analysis.checker import expected_values
from spark_analysis.checker.ack_rules import value_text
from spark_analysis.checker.columns import LOWEST, Array, Names, Piece, Rows, among, groups, piece, rows
from spark_analysis.checker.facts import REFUSED, Facts
from spark_analysis.checker.findings import Findings
from spark_analysis.checker.scatter import split

_KEY = {
    "producer": "int32",
    "seq": "int64",
    "topic": "int32",
    "partition": "int32",
    "offset": "int64",
    "due_ns": "int64",
}
_ACKS = _KEY | {"done_ns": "int64", "result": "int32"}
_LOG = _KEY | {"wrong": "bool", "ahead": "int64", "counted": "bool"}
_PLACE = ("topic", "partition", "offset")


@dataclass(frozen=True)
class Records:
    """Anomalies found; records to look up in the table of acknowledgements; those of a quorum that are in no log; the
    number of acks rows of a record that has another one among these.
    """

    found: Findings
    unknown: dict[str, Array] = field(default_factory=dict)
    lost_by_quorum: Piece | None = None
    twice: int = 0


def to_slots(one: Piece, slots: int) -> Iterator[tuple[int, Piece]]:
    """The parts of a piece by slot: a record's rows all have the same."""
    columns = {name: one.column(name) for name in one.columns}
    for (number,), at in split([slot(one.names["producer"], columns["producer"], columns["seq"], slots)]):
        yield number, piece(one.table, columns, one.names, at)


def slot(names: Sequence[str], producer: Array, seq: Array, slots: int) -> Array:
    """The slot of each record."""
    codes = np.array([zlib.crc32(name.encode()) for name in names], np.int64)
    return (codes[producer] + seq) % slots


@dataclass(frozen=True)
class _Joined:
    """`acks` and `log` with the number of their record: `of_ack` and `of_log`.

    `ack`: the acks row of each record, or -1. `log` is in the order of records and places. `matched`: acks rows whose
    record was found by its place.
    """

    acks: Rows
    log: Rows
    of_ack: Array
    of_log: Array
    ack: Array
    matched: Array

    def first(self, *names: str) -> Array:
        """The log rows with another record or another value than the row before."""
        fresh = np.ones(self.log.size, bool)
        fresh[1:] = self.of_log[1:] != self.of_log[:-1]
        for name in names:
            fresh[1:] |= self.log[name][1:] != self.log[name][:-1]
        return fresh


def evaluate(pieces: Sequence[Piece], facts: Facts, topics: frozenset[str], last: bool) -> tuple[Records, list[Piece]]:
    """Evaluates the records of a slot; in the last round a record without an acknowledgement was never sent."""
    names = {name: Names() for name in ("producer", "topic", "result")}
    acks = [one for one in pieces if one.table in ("acks", "found")]
    matched = np.concatenate([np.full(one.rows, one.table == "found") for one in acks]) if acks else np.empty(0, bool)
    log_names = {name: names[name] for name in ("producer", "topic")}
    log = rows([one for one in pieces if one.table == "log"], _LOG, log_names)
    joined = _join(rows(acks, _ACKS, names), log, matched)
    found = Findings()
    unknown: dict[str, Array] = {}
    rest: list[Piece] = []
    if not last:
        alone = joined.ack[joined.of_log] < 0
        orphans = joined.log.only(alone)
        if orphans.size:
            for (code,), at in split([orphans["producer"]]):
                unknown[names["producer"].all[code]] = np.unique(orphans["seq"][at])
            log_names_of = {name: names[name].all for name in ("producer", "topic")}
            rest.append(piece("log", orphans.columns, log_names_of))
        joined = _join(joined.acks, joined.log.only(~alone), matched)
    _lost(joined, facts, found)
    _aborted(joined, facts, found)
    _moved(joined, found)
    _duplicated(joined, facts, found)
    _phantom(joined, topics, found)
    _corrupt(joined, facts, found)
    _reordered(joined, facts, found)
    twice = joined.acks.size - len(np.unique(joined.of_ack))
    return Records(found, unknown, _lost_by_quorum(joined, facts), twice), rest


def _join(acks: Rows, log: Rows, matched: Array) -> _Joined:
    there = acks.only(matched)
    extra = {name: there[name] for name in _KEY}
    extra |= {
        "wrong": np.zeros(there.size, bool),
        "ahead": np.full(there.size, LOWEST),
        "counted": np.ones(there.size, bool),
    }
    log = Rows(log.size + there.size, {name: np.r_[log[name], extra[name]] for name in _LOG}, acks.names)
    keys = [np.r_[acks[name], log[name]] for name in ("producer", "seq")]
    order, begins = groups(*keys)
    number = np.empty(len(order), np.int64)
    number[order] = np.repeat(np.arange(len(begins)), np.diff(np.r_[begins, len(order)]))
    of_ack, of_log = number[: acks.size], number[acks.size :]
    ack = np.full(len(begins), -1, np.int64)
    ack[of_ack] = np.arange(acks.size)
    order = np.lexsort((log["counted"], log["due_ns"], log["offset"], log["partition"], log["topic"], of_log))
    return _Joined(acks, log.only(order), of_ack, of_log[order], ack, matched)


def _results(acks: Rows, *wanted: str) -> Array:
    return among(acks["result"], acks.names["result"], wanted)


def _settings(table: Rows, name: str, facts: Facts) -> Array:
    known = facts.settings(table.names["producer"])[name]
    return known[table["producer"]] if table.size else np.zeros(0, bool)


def _places(joined: _Joined) -> Array:
    """The number of places of each record."""
    return np.bincount(joined.of_log[joined.first(*_PLACE)], minlength=len(joined.ack))


def _here(joined: _Joined) -> Array:
    """The log rows that are where their acknowledgement says."""
    ack = joined.ack[joined.of_log]
    here = ack >= 0
    for name in _PLACE:
        if joined.acks.size:
            here &= joined.acks[name][ack] == joined.log[name]
    return here


def _complete(acks: Rows, facts: Facts) -> Array:
    """The acks rows of partitions of which every log was read."""
    complete = np.ones(acks.size, bool)
    for (topic, partition), at in split([acks["topic"], acks["partition"]]) if acks.size else ():
        complete[at] = facts.is_complete((acks.names["topic"][topic], partition))
    return complete


def _gone(joined: _Joined, facts: Facts) -> Array:
    ok = _results(joined.acks, "OK") & ~joined.matched & _complete(joined.acks, facts)
    gone: Array = ok & (_places(joined)[joined.of_ack] == 0)
    return gone


def _lost(joined: _Joined, facts: Facts, found: Findings) -> None:
    """Acknowledged and in no log. Without waiting for other replicas (acks 0 and 1) that is allowed.

    Records of acks=min.insync.replicas have a rule of their own.
    """
    acks, quorum = joined.acks, _settings(joined.acks, "quorum", facts)
    could = _results(acks, "OK") & ~joined.matched & _complete(acks, facts)
    found.exposure["lost-write"] += int((could & ~quorum).sum())
    found.exposure["lost-to-election"] += int((could & quorum).sum())
    gone = acks.only(_gone(joined, facts) & ~quorum)
    allowed = ~_settings(gone, "waits", facts)
    _add(found, "lost-write", gone, lambda i: f"acknowledged for offset {gone['offset'][i]}", allowed)


def _lost_by_quorum(joined: _Joined, facts: Facts) -> Piece | None:
    gone = joined.acks.only(_gone(joined, facts) & _settings(joined.acks, "quorum", facts))
    return piece("acks", gone.columns, gone.names) if gone.size else None


def _aborted(joined: _Joined, facts: Facts, found: Findings) -> None:
    """Refused before it could be appended, by a producer that does not retry, and yet in the log."""
    acks = joined.acks
    refused = _results(acks, *REFUSED) & _settings(acks, "final", facts)
    found.exposure["aborted-write"] += int(refused.sum())
    if not refused.any():
        return
    ack = joined.ack[joined.of_log]
    bad = joined.first(*_PLACE, "due_ns") & ~joined.log["counted"] & (ack >= 0) & refused[ack]
    there = acks.only(ack[bad])
    results = acks.names["result"]
    _add(found, "aborted-write", there, lambda i: f"its producer received {results[there['result'][i]]}")


def _moved(joined: _Joined, found: Findings) -> None:
    """Acknowledged for a place where it is not, though it is elsewhere."""
    acks = joined.acks
    placed = _results(acks, "OK") & (acks["offset"] >= 0)
    found.exposure["inconsistent-offsets"] += int((placed & ~joined.matched).sum())
    right = np.bincount(joined.of_log[_here(joined)], minlength=len(joined.ack))[joined.of_ack]
    elsewhere = _places(joined)[joined.of_ack] > 0
    chosen = np.flatnonzero(placed & elsewhere & (right == 0) & (acks["seq"] >= 0))
    bad = acks.only(chosen)
    _add(found, "inconsistent-offsets", bad, lambda i: f"it is at {_text(joined, joined.of_ack[chosen[i]])}")


def _duplicated(joined: _Joined, facts: Facts, found: Findings) -> None:
    """In the log at more than one place; allowed to a producer without idempotence, which retries on errors."""
    places = _places(joined)
    found.exposure["duplicate"] += int((places > 0).sum())
    first = joined.first()
    at = np.flatnonzero(first & (places[joined.of_log] > 1) & (joined.log["seq"] >= 0))
    record = joined.of_log[at]
    often = joined.log.only(at)
    ack = joined.ack[record]
    if joined.acks.size:  # the place that its producer knows
        often = often.changed(
            **{
                name: np.where(ack >= 0, joined.acks[name][ack], often[name]).astype(often[name].dtype)
                for name in _PLACE
            }
        )
    allowed = ~_settings(often, "once", facts)
    _add(found, "duplicate", often, lambda i: f"it is at {_text(joined, record[i])}", allowed)


def _text(joined: _Joined, record: int) -> str:
    mine = joined.log.only(joined.first(*_PLACE) & (joined.of_log == record))
    topics = mine.names["topic"]
    columns = (mine[name].tolist() for name in _PLACE)
    found = [{"topic": topics[t], "partition": p, "offset": o} for t, p, o in zip(*columns, strict=True)]
    return json.dumps(sorted(found, key=lambda at: tuple(at.values())), separators=(",", ":"))


def _phantom(joined: _Joined, topics: frozenset[str], found: Findings) -> None:
    """In the log of a topic of the run and not sent by any of its clients."""
    log = joined.log
    mine = among(log["topic"], log.names["topic"], topics)
    once = joined.first(*_PLACE) & ~log["counted"] & mine
    found.exposure["phantom"] += int(once.sum())
    stray = log.only(once & (joined.ack[joined.of_log] < 0))
    _add(found, "phantom", stray, lambda _: "no client of the run sent it")


def _corrupt(joined: _Joined, facts: Facts, found: Findings) -> None:
    """In the log with another value than the one sent, or in a partition it was not sent to."""
    log, acks, ack = joined.log, joined.acks, joined.ack[joined.of_log]
    mine = np.flatnonzero((ack >= 0) & ~log["counted"] & joined.first(*_PLACE, "due_ns"))
    if not len(mine):
        return
    names = log.names["producer"]
    known = np.array([expected_values.known(name, facts.settings_of(name).size) for name in names], bool)
    found.exposure["corrupt-value"] += int(known[log["producer"][mine]].sum())
    want, meant = acks["due_ns"][ack[mine]], acks["partition"][ack[mine]]
    there = log.only(mine)
    wrong = there["wrong"] | (there["due_ns"] != want) | ((meant >= 0) & (meant != there["partition"]))
    bad, want, meant = there.only(wrong), want[wrong], meant[wrong]

    def detail(i: int) -> str:
        return value_text(int(bad["due_ns"][i]), int(want[i]), int(meant[i]), bool(bad["wrong"][i]))

    _add(found, "corrupt-value", bad, detail)


def _reordered(joined: _Joined, facts: Facts, found: Findings) -> None:
    """Behind a later record of its producer in the same partition; only first places count.

    Allowed to a producer without idempotence for records that it retries or gave up on: the broker still reads the
    requests of a connection that the producer closed while it reads those of the next one.
    """
    log = joined.log
    flagged = log["ahead"] > LOWEST
    if not flagged.any():
        return
    begins = np.flatnonzero(joined.first("topic", "partition"))
    lowest = np.repeat(log["offset"][begins], np.diff(np.r_[begins, log.size]))
    at = np.flatnonzero(flagged & (log["offset"] == lowest))
    keep = np.ones(len(at), bool)
    same = np.diff(joined.of_log[at]) == 0
    for name in _PLACE:
        same &= np.diff(log[name][at]) == 0
    keep[1:] = ~same
    at = at[keep]
    late = log.only(at)
    ack = joined.ack[joined.of_log[at]]
    given_up = np.zeros(len(at), bool)
    if joined.acks.size:
        given_up = (ack >= 0) & ~_results(joined.acks, "OK")[ack] & _settings(late, "final", facts)
    allowed = ~_settings(late, "once", facts) | given_up
    _add(found, "nonmonotonic-send", late, lambda i: f"record {late['ahead'][i]} is before it", allowed)


def _add(found: Findings, kind: str, table: Rows, detail: Callable[[int], str], allowed: Array | None = None) -> None:
    """Adds rows of any topic."""
    for (topic,), at in split([table["topic"]]) if table.size else ():
        _add_of_topic(found, kind, table.names["topic"][topic], table, np.arange(table.size)[at], detail, allowed)


def _add_of_topic(
    found: Findings,
    kind: str,
    topic: str,
    table: Rows,
    at: Array,
    detail: Callable[[int], str],
    allowed: Array | None,
) -> None:
    found.add(
        kind,
        topic,
        table["partition"][at],
        table["offset"][at],
        lambda i: detail(int(at[i])),
        producers=lambda i: table.names["producer"][table["producer"][at[i]]],
        seqs=table["seq"][at],
        allowed=None if allowed is None else allowed[at],
    )
