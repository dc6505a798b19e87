"""Numbers of records, and the longest time without an acknowledgement, from parts in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from spark_analysis.checker.columns import Array
from spark_analysis.checker.facts import Place

SILENCE_NS = 1_000_000  # silences are counted in ms; shorter ones are ignored
_MOST = 100_000  # times of a part that are kept apart


@dataclass(frozen=True)
class Totals:
    """Sums over acks rows, their places, and when they were acknowledged (`silences`)."""

    numbers: dict[str, int]
    places: frozenset[Place]
    busy: Array


def silences(done_ns: Array) -> Array:
    """First and last of the acknowledgements that follow each other without a silence, one pair after another.

    Where these were too many, silences that are short beside the others are ignored.
    """
    if not len(done_ns):
        return np.empty((0, 2), np.int64)
    ordered = np.sort(done_ns)
    return _joined(np.stack([ordered, ordered], axis=1))


def _joined(busy: Array) -> Array:
    """The same with those joined that are no silence apart; they are sorted by their begin."""
    ends = np.maximum.accumulate(busy[:, 1])
    gaps = busy[1:, 0] - ends[:-1]
    least = SILENCE_NS
    while int((gaps > least).sum()) >= _MOST:
        least *= 2
    cuts = np.flatnonzero(gaps > least)
    return np.stack([busy[np.r_[0, cuts + 1], 0], ends[np.r_[cuts, len(ends) - 1]]], axis=1)


def longest_silence_ms(parts: Iterable[Totals]) -> int:
    """The longest time between two acknowledgements."""
    found = [part.busy for part in parts if len(part.busy)]
    if not found:
        return 0
    busy = np.concatenate(found)
    busy = _joined(busy[np.argsort(busy[:, 0], kind="stable")])
    return int((busy[1:, 0] - busy[:-1, 1]).max(initial=0)) // 1_000_000


def summed(parts: Iterable[Totals]) -> Counter[str]:
    """The sums of all parts."""
    sums: Counter[str] = Counter()
    for part in parts:
        sums.update(part.numbers)
    return sums
