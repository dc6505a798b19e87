"""Quantiles pooled over blocks, and how sure they are: whole blocks are drawn again, never single records.

Records of one block depend on each other, blocks hardly; plain numbers of small histograms, no Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spark_analysis.stats import MIN_PAIRS, Interval

DRAWS = 2000
_EDGES = (2.5, 97.5)

# Per block (or round) the number of records by value.
Histogram = Mapping[int, Mapping[float, int]]


def quantile(blocks: Histogram, per_thousand: int, seed: int = 0) -> Interval | None:
    """One pooled quantile with its interval; None with fewer than MIN_PAIRS blocks."""
    rounds = sorted(blocks)
    if len(rounds) < MIN_PAIRS:
        return None
    return _interval(_quantiles(blocks, _weights(len(rounds), seed), rounds, per_thousand))


def ratio(upper: Histogram, lower: Histogram, per_thousand: int, seed: int = 0) -> Interval | None:
    """Pooled quantile of one side over that of the other, over the rounds that both have; each draw takes the same
    rounds of both. None with fewer than MIN_PAIRS of them.
    """
    rounds = sorted(set(upper) & set(lower))
    if len(rounds) < MIN_PAIRS:
        return None
    weights = _weights(len(rounds), seed)
    above, below = (_quantiles(side, weights, rounds, per_thousand) for side in (upper, lower))
    return _interval(above / below)


def _weights(blocks: int, seed: int) -> NDArray[np.float64]:
    """How often each block is drawn: first once each (the sample itself), then at random."""
    drawn = np.random.default_rng(seed).multinomial(blocks, [1 / blocks] * blocks, size=DRAWS)
    return np.vstack([np.ones((1, blocks)), drawn]).astype(np.float64)


def _quantiles(
    blocks: Histogram, weights: NDArray[np.float64], rounds: Sequence[int], per_thousand: int
) -> NDArray[np.float64]:
    values = np.array(sorted({value for r in rounds for value in blocks[r]}), dtype=np.float64)
    counts = np.array([[blocks[r].get(value, 0) for value in values] for r in rounds], dtype=np.float64)
    below = np.cumsum(weights @ counts, axis=1)
    found: NDArray[np.float64] = values[(below >= below[:, -1:] * (per_thousand / 1000)).argmax(axis=1)]
    return found


def _interval(drawn: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(drawn[1:], _EDGES)
    return Interval(float(drawn[0]), float(low), float(high))
