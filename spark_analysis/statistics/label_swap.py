"""Quantiles pooled over rounds, one mode against another: an exact test by swapped labels, and its interval.

If two modes are alike, either could have had either block of a round: the labels of each round may be swapped. The p of
a difference is the share of all swaps that show one at least as large, whatever the rounds have in common and
however many of them are stalled. The interval holds each ratio (or shift) that such a test does not reject: the
blocks of one mode are made alike by it. Records of one block are never taken apart; plain numbers, no Spark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spark_analysis.statistics.stats import ALPHA, MIN_PAIRS, Interval

# Up to so many rounds all swaps are tried, beyond that so many at random.
EXACT_UP_TO = 12
DRAWS = 2**EXACT_UP_TO // 2
_HALVINGS = 18
_ENDLESS = 1e9

# Per round the number of records by value.
Histogram = Mapping[int, Mapping[float, int]]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Tested(Interval):
    """An interval, and p of the test that there is no difference."""

    p: float


def least_p(rounds: int) -> float:
    """The smallest p that so many rounds can have."""
    return float(2 / 2**rounds) if rounds <= EXACT_UP_TO else 1 / (DRAWS + 1)


def ratio(upper: Histogram, lower: Histogram, per_thousand: float) -> Tested | None:
    """The ratio of one variant's pooled quantile to the other's, over the rounds that both have; None with fewer than
    MIN_PAIRS of them.
    """
    pair = pair_of(upper, lower)
    if pair is None:
        return None
    tested = Factor(pair, per_thousand)
    low, high = tested.interval(0.01)
    return Tested(_exp(tested.middle), _exp(low), _exp(high), tested.p(0))


def shift(upper: Histogram, lower: Histogram, per_thousand: Sequence[float]) -> list[Tested] | None:
    """The shift function: one variant's pooled quantiles minus the other's; None with fewer than MIN_PAIRS rounds."""
    pair = pair_of(upper, lower)
    if pair is None:
        return None
    out = []
    for q in per_thousand:
        tested = Shift(pair, q)
        low, high = tested.interval(1.0)
        out.append(Tested(tested.middle, low, high, tested.p(0)))
    return out


@dataclass(frozen=True)
class _Counts:
    """One variant: its values, sorted, and of each round (rows) the records below the first value, up to the first, up
    to the second, and so on.
    """

    values: Array
    upto: Array

    @staticmethod
    def of(histogram: Histogram, rounds: Sequence[int]) -> _Counts:
        values = np.unique(np.concatenate([np.fromiter(histogram[r], dtype=np.float64) for r in rounds]))
        records = np.zeros((len(rounds), len(values)))
        for i, r in enumerate(rounds):
            where = np.searchsorted(values, np.fromiter(histogram[r], dtype=np.float64))
            records[i, where] = np.fromiter(histogram[r].values(), dtype=np.float64)
        return _Counts(values, np.hstack([np.zeros((len(rounds), 1)), np.cumsum(records, axis=1)]))


@dataclass(frozen=True)
class Pair:
    """Two variants over the same rounds, and the swaps of their labels."""

    upper: _Counts
    lower: _Counts
    swaps: Array  # rows: 1 where a round keeps its labels; the first row keeps all


def pair_of(upper: Histogram, lower: Histogram) -> Pair | None:
    """Both variants over the rounds that both have; None with fewer than MIN_PAIRS of them."""
    rounds = sorted(set(upper) & set(lower))
    if len(rounds) < MIN_PAIRS:
        return None
    return Pair(_Counts.of(upper, rounds), _Counts.of(lower, rounds), _swaps(len(rounds)))


def _swaps(rounds: int) -> Array:
    """Of a swap and its opposite, which show the same difference, only one."""
    if rounds <= EXACT_UP_TO:
        numbers = np.arange(2 ** (rounds - 1))
        return (1 - ((numbers[:, None] >> np.arange(rounds)) & 1)).astype(np.float64)
    drawn = np.random.default_rng(0).integers(0, 2, (DRAWS, rounds)).astype(np.float64)
    return np.vstack([np.ones((1, rounds)), drawn])


class _Test:
    """Tests of what makes the upper variant like the lower one: nothing (0), or a number."""

    def __init__(
        self,
        pair: Pair,
        per_thousand: float,
        made_alike: Callable[[Array, float], Array],
        apart: Callable[[Array, Array], Array],
        farthest: float,
    ) -> None:
        self._farthest = farthest  # what is farther away from the middle is infinite
        self._pair, self._q = pair, per_thousand / 1000
        self._made_alike, self._apart = made_alike, apart
        self.middle = float(self._differences(0, pair.swaps[:1])[0])

    def p(self, number: float) -> float:
        """p of the test that the upper variant is like the lower one after it was changed by this number."""
        found = np.abs(self._differences(number, self._pair.swaps))
        return float(np.count_nonzero(found >= found[0] * (1 - 1e-9)) / len(found))

    def interval(self, step: float) -> tuple[float, float]:
        """The numbers that are not rejected, searched for in growing steps from the middle; 0 is in it if its own test
        does not reject it.
        """
        if abs(self.middle) >= _ENDLESS:
            # What is infinite stays so, whatever changes the variant
            end = math.copysign(math.inf, self.middle)
            return (end, end) if self.p(0) <= ALPHA else (-math.inf, math.inf)
        low, high = (self._end(sign * step) for sign in (-1, 1))
        return (low, high) if self.p(0) <= ALPHA else (min(low, 0.0), max(high, 0.0))

    def _end(self, step: float) -> float:
        inside, width = self.middle, step
        while self.p(self.middle + width) > ALPHA:
            inside, width = self.middle + width, 2 * width
            if abs(width) > self._farthest:
                return math.copysign(math.inf, step)
        outside = self.middle + width
        for _ in range(_HALVINGS):
            between = (inside + outside) / 2
            if self.p(between) > ALPHA:
                inside = between
            else:
                outside = between
        return outside

    def _differences(self, number: float, swaps: Array) -> Array:
        """The difference of the pooled quantiles after each swap."""
        upper, lower = self._pair.upper, self._pair.lower
        changed = self._made_alike(upper.values, number)
        values = np.sort(np.concatenate([changed, lower.values]))
        ours = upper.upto[:, np.searchsorted(changed, values, side="right")]
        theirs = lower.upto[:, np.searchsorted(lower.values, values, side="right")]
        found = values[self._places(ours, theirs, np.vstack([swaps, 1 - swaps]))].reshape(2, -1)
        with np.errstate(invalid="ignore"):
            apart = self._apart(*found)
        # Not a number: no answer in either variant
        return np.clip(np.where(np.isnan(apart), 0.0, apart), -_ENDLESS, _ENDLESS)

    def _places(self, ours: Array, theirs: Array, mine: Array) -> NDArray[np.int64]:
        """The first place at which enough records lie, for each row of ``mine``, which has a 1 for every round whose
        block is one of ours; both counts are of records up to each place.
        """
        enough = self._q * (theirs[:, -1].sum() + mine @ (ours[:, -1] - theirs[:, -1]))
        # No choice of blocks has more records up to a place than the larger one of each round, none has less.
        first = int(np.searchsorted(np.maximum(ours, theirs).sum(axis=0), enough.min()))
        last = min(int(np.searchsorted(np.minimum(ours, theirs).sum(axis=0), enough.max())), ours.shape[1] - 1)
        ours, theirs = ours[:, first : last + 1], theirs[:, first : last + 1]
        without, more = theirs.sum(axis=0), np.ascontiguousarray((ours - theirs).T)
        low = np.zeros(len(enough), dtype=np.int64)
        high = np.full(len(enough), last - first, dtype=np.int64)
        for _ in range((last - first).bit_length()):
            middle = (low + high) // 2
            reached = without[middle] + np.einsum("sr,sr->s", mine, more[middle]) >= enough
            low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
        return first + low


class Factor(_Test):
    """The number is the logarithm of a factor."""

    def __init__(self, pair: Pair, per_thousand: float) -> None:
        def logarithms(upper: Array, lower: Array) -> Array:
            return np.log(np.maximum(upper, 1e-3)) - np.log(np.maximum(lower, 1e-3))

        super().__init__(pair, per_thousand, lambda values, number: values * math.exp(-number), logarithms, 50)


class Shift(_Test):
    """The number is added."""

    def __init__(self, pair: Pair, per_thousand: float) -> None:
        super().__init__(pair, per_thousand, lambda values, number: values - number, np.subtract, _ENDLESS)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
