"""Signed-rank estimate and interval over few rounds; plain numbers, no Spark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# The least number of rounds whose strongest signed-rank result has p < 0.05, two-sided (2/64).
MIN_PAIRS = 6
CONFIDENCE = 0.95
NOT_ENOUGH = "not enough runs"


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval of at least 95 %."""

    estimate: float
    low: float
    high: float


def signed_rank(values: Sequence[float]) -> Interval | None:
    """Hodges-Lehmann estimate of the middle, with the interval of the Wilcoxon signed-rank test.

    None with fewer than MIN_PAIRS values: they carry no interval.
    """
    if len(values) < MIN_PAIRS:
        return None
    walsh = sorted((values[i] + values[j]) / 2 for i in range(len(values)) for j in range(i, len(values)))
    skip = _critical(len(values))
    return Interval(median(walsh), walsh[skip], walsh[-1 - skip])


def signed_rank_ratio(ratios: Sequence[float]) -> Interval | None:
    """The same of ratios: taken of their logarithms, so that 2 and 1/2 are as far from 1."""
    found = signed_rank([math.log(r) for r in ratios])
    return None if found is None else Interval(*(math.exp(v) for v in (found.estimate, found.low, found.high)))


def direction(low: float | None, high: float | None) -> str:
    """What the interval of a ratio of latencies says of the side above the line."""
    if low is None or high is None:
        return NOT_ENOUGH
    return "faster" if high < 1 else "slower" if low > 1 else "no difference shown"


def _critical(n: int) -> int:
    """How many of the smallest (and largest) Walsh averages may be left out at the asked confidence."""
    # ways[w]: number of sign patterns of ranks 1..n whose positive ranks sum to w.
    ways = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for w in range(len(ways) - 1, rank - 1, -1):
            ways[w] += ways[w - rank]
    limit = (1 - CONFIDENCE) / 2 * 2**n
    below, skip = 0, 0
    while below + ways[skip] <= limit:
        below += ways[skip]
        skip += 1
    return max(0, skip - 1)
