"""Signed-rank estimate and interval of a median log ratio over few pairs; plain numbers, no Spark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# The least number of pairs whose strongest signed-rank result has p < 0.05, two-sided (2/64).
MIN_PAIRS = 6
CONFIDENCE = 0.95
NOT_ENOUGH = "not enough runs"


@dataclass(frozen=True)
class Comparison:
    """Ratio of candidate to baseline: median of the pairs' ratios, and an interval where the pairs carry one."""

    pairs: int
    median: float | None
    estimate: float | None
    low: float | None
    high: float | None
    verdict: str


def compare(ratios: Sequence[float]) -> Comparison:
    """Median ratio; with at least MIN_PAIRS pairs also the Hodges-Lehmann estimate, its interval and a verdict.

    The interval is that of the Wilcoxon signed-rank test on log ratios, with at least 95 % confidence.
    """
    middle = median(ratios) if ratios else None
    if len(ratios) < MIN_PAIRS:
        return Comparison(len(ratios), middle, None, None, None, NOT_ENOUGH)
    logs = [math.log(r) for r in ratios]
    walsh = sorted((logs[i] + logs[j]) / 2 for i in range(len(logs)) for j in range(i, len(logs)))
    skip = _critical(len(logs))
    low, high = math.exp(walsh[skip]), math.exp(walsh[-1 - skip])
    verdict = "faster" if high < 1 else "slower" if low > 1 else "no difference shown"
    return Comparison(len(ratios), middle, math.exp(median(walsh)), low, high, verdict)


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
