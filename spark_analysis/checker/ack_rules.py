"""Rules on acknowledged records at the offset that their acknowledgement says; what is not there goes to `records`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spark_analysis.checker.bucket_log import BucketLog
from spark_analysis.checker.columns import HIGHEST, LOWEST, Array, Piece, Rows, before, behind, piece
from spark_analysis.checker.facts import Facts
from spark_analysis.checker.findings import Findings
from spark_analysis.checker.scatter import Key, split
from spark_analysis.checker.shortage import Sends, Unsure, Where, check_sends

TYPES = {
    "offset": "int32",
    "producer": "int32",
    "seq": "int64",
    "due_ns": "int64",
    "sent_ns": "int64",
    "done_ns": "int64",
    "shift": "int64",
}


@dataclass(frozen=True)
class Matched:
    """`acks` with `right`: the record that the log has at that offset, by itself; `here`: the same, or among several.

    `answered`: offsets whose record has its acknowledgement.
    """

    acks: Rows
    right: Array
    here: Array
    answered: Array


def match(acks: Rows, log: BucketLog) -> Matched:
    """Compares each acknowledged record with the one at its offset."""
    at, there = acks["offset"], log.by_offset
    same = (there["producer"][at] == acks["producer"]) & (there["seq"][at] == acks["seq"])
    right = log.has[at] & same
    here = right
    if log.places.size:
        several = set(zip(*(log.places[name].tolist() for name in ("offset", "producer", "seq")), strict=True))
        rest = np.flatnonzero(log.several[at])
        mine = zip(*(acks[name][rest].tolist() for name in ("offset", "producer", "seq")), strict=True)
        here = right.copy()
        here[rest] = [one in several for one in mine]
    answered = np.zeros(log.width, bool)
    answered[at[right]] = True
    return Matched(acks, right, here, answered)


def realtime(matched: Matched, log: BucketLog, key: Key, base: int, last: int, found: Findings) -> tuple[int, int]:
    """Sent after another of the partition was acknowledged, and yet at a smaller offset.

    `last` is the earliest answer to a record behind this bucket. Returns the latest time of sending in the bucket, and
    the earliest answer, both on the clients' shared monotonic clock: epochs may be set meanwhile.
    """
    acks = matched.acks if matched.here.all() else matched.acks.only(matched.here)
    found.exposure["realtime-order"] += acks.size
    if not acks.size:
        return LOWEST, HIGHEST
    if not (np.diff(acks["offset"]) >= 0).all():
        acks = acks.only(np.argsort(acks["offset"], kind="stable"))
    sent, done = acks["sent_ns"] + acks["shift"], acks["done_ns"] + acks["shift"]
    earliest = behind(done, last)
    early = np.flatnonzero(sent > earliest)
    found.add(
        "realtime-order",
        key.topic,
        key.partition,
        base + acks["offset"][early],
        lambda i: (
            "a record behind it had been acknowledged "
            f"{(sent[early[i]] - earliest[early[i]]) / 1e6:.3f} ms before it was sent"
        ),
        producers=lambda i: log.producers.all[acks["producer"][early[i]]],
        seqs=acks["seq"][early],
    )
    return int(sent.max()), int(done.min())


def corrupt(matched: Matched, log: BucketLog, wrong: Array, known: Array, key: Key, base: int, found: Findings) -> None:
    """In the log with another value than the one sent: another due time in it, or another checksum."""
    acks = matched.acks if matched.right.all() else matched.acks.only(matched.right)
    at = acks["offset"]
    found.exposure["corrupt-value"] += int(known[at].sum())
    bad = np.flatnonzero((log.by_offset["due_ns"][at] != acks["due_ns"]) | wrong[at])
    found.add(
        "corrupt-value",
        key.topic,
        key.partition,
        base + at[bad],
        lambda i: value_text(
            int(log.by_offset["due_ns"][at[bad[i]]]),
            int(acks["due_ns"][bad[i]]),
            key.partition,
            bool(wrong[at[bad[i]]]),
        ),
        producers=lambda i: log.producers.all[acks["producer"][bad[i]]],
        seqs=acks["seq"][bad],
    )


def value_text(due_ns: int, wanted_ns: int, partition: int, wrong: bool) -> str:
    """A sentence on what is wrong with a value."""
    text = f"due {due_ns}, sent as due {wanted_ns} to partition {partition}"
    return text + (", with another checksum than that of the value sent" if wrong else "")


def short(matched: Matched, log: BucketLog, key: Key, base: int, facts: Facts, found: Findings) -> dict[Where, Unsure]:
    """Acknowledged while the in-sync replicas were too few, or in too few racks."""
    if not any((key.topic, key.partition) in places for places in facts.short.values()):
        return {}
    acks = matched.acks
    after = np.full(log.width, LOWEST, np.int64)
    after[acks["offset"][matched.right]] = acks["sent_ns"][matched.right]
    after = np.maximum.accumulate(after)
    epoch = np.where(matched.right, log.by_offset["leader_epoch"][acks["offset"]], -1)
    after_ns = np.where(matched.right, after[acks["offset"]], acks["sent_ns"])
    sends = Sends(acks, after_ns, epoch, base + acks["offset"].astype(np.int64), [])
    return check_sends(sends, (key.topic, key.partition), facts, found)


def late(log: BucketLog, ahead: dict[str, int]) -> tuple[Rows, dict[str, tuple[int, int]]]:
    """Records behind a later one of their producer, with its sequence in `ahead`; and the sequences of each producer.

    `ahead` has the largest sequences before this bucket. Only a record's first place counts: `records` sees to that.
    """
    all_ = log.records
    parts, spans = [], {}
    for (code,), at in split([all_["producer"]]) if all_.size else ():
        mine = np.arange(all_.size)[at]
        mine = mine[all_["seq"][mine] >= 0]
        if not len(mine):
            continue
        seq, name = all_["seq"][mine], log.producers.all[code]
        spans[name] = (int(seq.min()), int(seq.max()))
        top = before(seq, ahead.get(name, -1))
        back = top > seq
        parts.append(all_.only(mine[back]).changed(ahead=top[back]))
    names = ("producer", "seq", "due_ns", "offset", "ahead")
    columns = {
        name: np.concatenate([part[name] for part in parts]) if parts else np.empty(0, np.int64) for name in names
    }
    return Rows(len(columns["seq"]), columns, all_.names), spans


def unmatched(matched: Matched, log: BucketLog, behind_: Rows, wrong: Array, key: Key, base: int) -> list[Piece]:
    """Acknowledgements without their record, records without their acknowledgement, and those that came late."""
    left = []
    acks = matched.acks.only(~matched.right)
    if acks.size:
        columns = {name: acks[name] for name in ("producer", "seq", "due_ns", "sent_ns", "done_ns")}
        columns |= {"offset": base + acks["offset"].astype(np.int64), "result": np.zeros(acks.size, np.int32)}
        left.append(_placed(key, "acks", columns, {"producer": log.producers.all, "result": ["OK"]}))
    alone = np.flatnonzero(log.has & ~matched.answered)
    single = {name: log.by_offset[name][alone] for name in ("producer", "seq", "due_ns")} | {"offset": alone}
    for table in (single, log.places.columns, behind_.columns):
        size = len(table["offset"])
        if size:
            at = table["offset"]
            columns = {name: table[name] for name in ("producer", "seq", "due_ns")}
            columns |= {"offset": base + at.astype(np.int64), "wrong": wrong[at]}
            columns["ahead"] = table.get("ahead", np.full(size, LOWEST, np.int64))
            columns["counted"] = np.full(size, "ahead" in table)
            left.append(_placed(key, "log", columns, {"producer": log.producers.all}))
    return left


def _placed(key: Key, table: str, columns: dict[str, Array], names: dict[str, list[str]]) -> Piece:
    size = len(columns["seq"])
    columns |= {"topic": np.zeros(size, np.int32), "partition": np.full(size, key.partition, np.int32)}
    return piece(table, columns, names | {"topic": [key.topic]})
