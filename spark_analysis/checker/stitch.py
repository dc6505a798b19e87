"""Borders between the buckets of a partition: what one bucket says to the others, from their summaries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from spark_analysis.checker.bucket import Carry, Summary
from spark_analysis.checker.columns import HIGHEST
from spark_analysis.checker.facts import Place
from spark_analysis.checker.findings import Findings
from spark_analysis.checker.poll_rules import Jump
from spark_analysis.checker.scatter import NOWHERE, Key

Consumer = tuple[str, str, int]  # name, topic, partition


def by_place(summaries: Iterable[Summary]) -> dict[Place, list[Summary]]:
    """The buckets of each partition, in order of offsets."""
    found: dict[Place, list[Summary]] = {}
    for one in sorted(summaries, key=lambda one: one.key):
        if (one.key.topic, one.key.partition) != NOWHERE:
            found.setdefault((one.key.topic, one.key.partition), []).append(one)
    return found


def gone_back(buckets: dict[Place, list[Summary]]) -> frozenset[Consumer]:
    """Consumers that went from one bucket back to an earlier one."""
    found = set()
    for (topic, partition), of_place in buckets.items():
        last: dict[str, int] = {}
        for one in of_place:
            for name, walk in one.walks.items():
                if walk.first < last.get(name, -1):
                    found.add((name, topic, partition))
                last[name] = max(walk.last, last.get(name, -1))
    return frozenset(found)


def jumps_between(of_place: Sequence[Summary]) -> list[Jump]:
    """Steps of consumers from the last offset in one bucket to another than the first of the next."""
    found, at = [], dict[str, int]()
    for one in of_place:
        for name, walk in one.walks.items():
            if name in at and walk.from_offset > at[name] + 1:
                found.append(Jump(name, at[name], walk.from_offset))
            at[name] = walk.to_offset
    return found


def carries(of_place: Sequence[Summary], bits: int, walked: frozenset[str], jumps: Sequence[Jump]) -> dict[Key, Carry]:
    """The buckets of one partition that are to be evaluated again, with what the others say to them."""
    epochs: dict[str, int] = {}
    ahead: dict[str, int] = {}
    found = {}
    answered = _answered_behind(of_place)
    for one, behind in zip(of_place, answered, strict=True):
        base = one.key.bucket << bits
        over = tuple(jump for jump in jumps if jump.before < base + (1 << bits) - 1 and jump.after > base)
        concerned = (
            any(node.lowest_epoch < epochs.get(name, -1) for name, node in one.nodes.items())
            or any(lowest < ahead.get(name, -1) for name, (lowest, _) in one.seqs.items())
            or one.sent > behind
            or (over and one.nodes)
            or walked & one.walks.keys()
        )
        if concerned:
            found[one.key] = Carry(dict(epochs), dict(ahead), behind, over, walked)
        for name, node in one.nodes.items():
            epochs[name] = max(epochs.get(name, -1), node.highest_epoch)
        for name, (_, highest) in one.seqs.items():
            ahead[name] = max(ahead.get(name, -1), highest)
    return found


def _answered_behind(of_place: Sequence[Summary]) -> list[int]:
    """The earliest answer in all buckets behind each."""
    found, earliest = [], HIGHEST
    for one in reversed(of_place):
        found.append(earliest)
        earliest = min(earliest, one.answered)
    return found[::-1]


def gaps(buckets: dict[Place, list[Summary]], ends: dict[tuple[Place, str], int]) -> Findings:
    """Offsets that a replica lacks between two buckets, or before the end that it was read to."""
    found = Findings()
    for place, of_place in buckets.items():
        last: dict[str, int] = {}
        for one in of_place:
            for name, node in one.nodes.items():
                _gap(found, place, name, last.get(name), node.first)
                last[name] = node.last
        for name, at in last.items():
            _gap(found, place, name, at, ends.get((place, name), -1))
    return found


def _gap(found: Findings, place: Place, node: str, last: int | None, first: int) -> None:
    if last is not None and first > last + 1:
        found.add("offset-gap", *place, np.array([last]), lambda _: f"{node} has nothing up to offset {first}")


def begins(buckets: dict[Place, list[Summary]]) -> dict[Place, dict[int, tuple[int, int]]]:
    """Where each leader epoch begins in the final log, and the offset behind its last record."""
    found: dict[Place, dict[int, tuple[int, int]]] = {}
    for place, of_place in buckets.items():
        epochs = found.setdefault(place, {})
        for one in of_place:
            for epoch, (begin, last) in one.begins.items():
                known = epochs.get(epoch, (begin, last + 1))
                epochs[epoch] = (min(known[0], begin), max(known[1], last + 1))
    return found
