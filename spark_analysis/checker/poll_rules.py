"""Rules on the records that consumers received during the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spark_analysis.checker.bucket_log import BucketLog
from spark_analysis.checker.columns import Array, Names, Piece, Rows, before, rows
from spark_analysis.checker.facts import Facts
from spark_analysis.checker.findings import Findings
from spark_analysis.checker.scatter import Key, split

TYPES = {"consumer": "int32", "number": "int64", "offset": "int32", "producer": "int32", "seq": "int64"}


class Jump(NamedTuple):
    """A consumer's step from one offset to another that is not the next."""

    consumer: str
    before: int
    after: int


class Walk(NamedTuple):
    """A consumer's way through a bucket: first and last number, first and last offset."""

    first: int
    last: int
    from_offset: int
    to_offset: int


def walks(
    polls: Rows, base: int, skip: frozenset[str], key: Key, found: Findings
) -> tuple[dict[str, Walk], list[Jump]]:
    """The way of each consumer through one bucket; adds where it went back, and returns where it jumped.

    Consumers to skip went back from one bucket to another: all their polls are walked together elsewhere.
    """
    ways, jumps = {}, []
    for (code,), at in split([polls["consumer"]]) if polls.size else ():
        mine = polls.only(np.arange(polls.size)[at])
        if not (np.diff(mine["number"]) >= 0).all():
            mine = mine.only(np.argsort(mine["number"], kind="stable"))
        offsets = base + mine["offset"].astype(np.int64)
        name, number = polls.names["consumer"][code], mine["number"]
        ways[name] = Walk(int(number[0]), int(number[-1]), int(offsets[0]), int(offsets[-1]))
        if name not in skip:
            jumps += walk(name, mine, offsets, key.topic, key.partition, found)
    return ways, jumps


def walk(consumer: str, polls: Rows, offsets: Array, topic: str, partition: int, found: Findings) -> list[Jump]:
    """Adds where a consumer's position did not rise; returns where it jumped."""
    found.exposure["nonmonotonic-poll"] += len(offsets) - 1
    found.exposure["poll-skip"] += len(offsets) - 1
    steps = np.diff(offsets)
    if (steps == 1).all():
        return []
    highest = before(offsets, -1)
    back = np.flatnonzero(offsets <= highest)
    found.add(
        "nonmonotonic-poll",
        topic,
        partition,
        offsets[back],
        lambda i: f"{consumer} had been at offset {highest[back[i]]}",
        producers=lambda i: polls.names["producer"][polls["producer"][back[i]]],
        seqs=polls["seq"][back],
    )
    far = np.flatnonzero(steps > 1)
    pairs = sorted(set(zip(offsets[far].tolist(), offsets[far + 1].tolist(), strict=True)))
    return [Jump(consumer, *pair) for pair in pairs]


def walk_all(key: tuple[str, str, int], pieces: Sequence[Piece]) -> tuple[Findings, list[Jump]]:
    """The same for a consumer's polls of all buckets of a partition."""
    consumer, topic, partition = key
    found = Findings()
    types = {"number": "int64", "offset": "int64", "producer": "int32", "seq": "int64"}
    polls = rows(pieces, types, {"producer": Names()})
    polls = polls.only(np.argsort(polls["number"], kind="stable"))
    return found, walk(consumer, polls, polls["offset"], topic, partition, found)


def skipped(jumps: Iterable[Jump], log: BucketLog, key: Key, base: int, found: Findings) -> None:
    """Records of the final log that lie between two that a consumer received one after the other."""
    for jump in jumps:
        _skipped(jump, log, key, base, found)


def _skipped(jump: Jump, log: BucketLog, key: Key, base: int, found: Findings) -> None:
    offsets = log.records["offset"]
    begin = int(np.searchsorted(offsets, jump.before - base, side="right"))
    end = int(np.searchsorted(offsets, jump.after - base, side="left"))
    if begin >= end:
        return
    passed = log.records.only(np.arange(begin, end))
    if log.several[passed["offset"]].any():  # of those that differ in their due time only, one counts
        keys = np.stack([passed[name].astype(np.int64) for name in ("offset", "producer", "seq")])
        passed = passed.only(np.unique(keys, axis=1, return_index=True)[1])
    found.add(
        "poll-skip",
        key.topic,
        key.partition,
        base + passed["offset"],
        lambda _: f"{jump.consumer} went from offset {jump.before} to {jump.after}",
        producers=lambda i: log.producers.all[passed["producer"][i]],
        seqs=passed["seq"],
    )


def vanished(polls: Rows, log: BucketLog, key: Key, base: int, facts: Facts, found: Findings) -> None:
    """Records that a consumer received and that the final log does not have at that offset."""
    place = (key.topic, key.partition)
    if not facts.is_complete(place):
        return
    found.exposure["vanished-read"] += polls.size
    at, there = polls["offset"], log.by_offset
    same = (there["producer"][at] == polls["producer"]) & (there["seq"][at] == polls["seq"])
    gone = np.flatnonzero(~(log.present[at] & ~log.differs[at] & same))
    if len(gone) and log.spots.size:
        odd = set(zip(*(log.spots[name].tolist() for name in ("offset", "producer", "seq")), strict=True))
        mine = zip(*(polls[name][gone].tolist() for name in ("offset", "producer", "seq")), strict=True)
        gone = gone[[one not in odd for one in mine]]
    found.add(
        "vanished-read",
        key.topic,
        key.partition,
        base + at[gone],
        lambda i: f"{polls.names['consumer'][polls['consumer'][gone[i]]]} received it",
        producers=lambda i: log.producers.all[polls["producer"][gone[i]]],
        seqs=polls["seq"][gone],
    )
