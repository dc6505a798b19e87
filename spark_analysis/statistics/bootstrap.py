"""Quantiles pooled over blocks, with their intervals: full blocks are drawn again, never single records.

Records of one block depend on each other, blocks hardly; plain numbers of small histograms, no Spark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spark_analysis.statistics.stats import MIN_PAIRS, Interval

DRAWS = 2000
_EDGES = (2.5, 97.5)

# Per block (or round) the number of records by value.
Histogram = Mapping[int, Mapping[float, int]]


@dataclass(frozen=True)
class Drawn(Interval):
    """An interval, and p: twice the share of the draws that lie beyond no difference in the rarer direction."""

    p: float


def quantiles(blocks: Histogram, per_thousand: Sequence[float], seed: int = 0) -> list[Interval] | None:
    """Pooled quantiles with their intervals; None with fewer than MIN_PAIRS blocks."""
    rounds = sorted(blocks)
    if len(rounds) < MIN_PAIRS:
        return None
    found = _quantiles(blocks, _weights(len(rounds), seed), rounds, per_thousand)
    return [_interval(found[:, i]) for i in range(len(per_thousand))]


def quantile(blocks: Histogram, per_thousand: float, seed: int = 0) -> Interval | None:
    """One pooled quantile with its interval; None with fewer than MIN_PAIRS blocks."""
    found = quantiles(blocks, [per_thousand], seed)
    return None if found is None else found[0]


def ratio(upper: Histogram, lower: Histogram, per_thousand: float, seed: int = 0) -> Drawn | None:
    """Pooled quantile of one variant over that of the other, over the rounds that both have; each draw takes the same
    rounds of both. None with fewer than MIN_PAIRS of them.
    """
    both = _both(upper, lower, [per_thousand], seed)
    if both is None:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        return _drawn(both[0][:, 0] / both[1][:, 0], 1)


def shift(upper: Histogram, lower: Histogram, per_thousand: Sequence[float], seed: int = 0) -> list[Drawn] | None:
    """The shift function: one variant's quantiles minus the other's, drawn the same way."""
    both = _both(upper, lower, per_thousand, seed)
    if both is None:
        return None
    with np.errstate(invalid="ignore"):
        apart = both[0] - both[1]
    return [_drawn(apart[:, i], 0) for i in range(len(per_thousand))]


def _both(
    upper: Histogram, lower: Histogram, per_thousand: Sequence[float], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    rounds = sorted(set(upper) & set(lower))
    if len(rounds) < MIN_PAIRS:
        return None
    weights = _weights(len(rounds), seed)
    return _quantiles(upper, weights, rounds, per_thousand), _quantiles(lower, weights, rounds, per_thousand)


def _weights(blocks: int, seed: int) -> NDArray[np.float64]:
    """The number of times that each block is drawn: first once each (the sample itself), then at random."""
    drawn = np.random.default_rng(seed).multinomial(blocks, [1 / blocks] * blocks, size=DRAWS)
    return np.vstack([np.ones((1, blocks)), drawn]).astype(np.float64)


def _quantiles(
    blocks: Histogram, weights: NDArray[np.float64], rounds: Sequence[int], per_thousand: Sequence[float]
) -> NDArray[np.float64]:
    """Quantiles of each draw: one row a draw, one column a quantile."""
    values = np.unique(np.concatenate([np.fromiter(blocks[r], dtype=np.float64) for r in rounds]))
    counts = np.zeros((len(rounds), len(values)))
    for i, r in enumerate(rounds):
        where = np.searchsorted(values, np.fromiter(blocks[r], dtype=np.float64))
        counts[i, where] = np.fromiter(blocks[r].values(), dtype=np.float64)
    out = np.empty((len(weights), len(per_thousand)))
    requested = np.asarray(per_thousand, dtype=np.float64) / 1000
    for draw, weight in enumerate(weights):
        below = np.cumsum(weight @ counts)
        out[draw] = values[np.searchsorted(below, requested * below[-1])]
    return out


def _interval(drawn: NDArray[np.float64]) -> Interval:
    if np.isnan(drawn).any():  # no answer in either variant
        return Interval(float(drawn[0]), -math.inf, math.inf)
    # Draws may be infinite: no mean of two of them is taken.
    low = np.percentile(drawn[1:], _EDGES[0], method="lower")
    high = np.percentile(drawn[1:], _EDGES[1], method="higher")
    return Interval(float(drawn[0]), float(low), float(high))


def _drawn(drawn: NDArray[np.float64], equal: float) -> Drawn:
    found, again = _interval(drawn), drawn[1:]
    rarer = min(np.count_nonzero(again <= equal), np.count_nonzero(again >= equal))
    p = min(1.0, 2 * (rarer + 1) / (len(again) + 1))
    return Drawn(found.estimate, found.low, found.high, p)
