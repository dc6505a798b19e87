"""Signed-rank estimates, equivalence and verdicts over few rounds; plain numbers, no Spark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from spark_analysis.statistics.verdict_words import IMPROVED, NO_CONTROL, NOT_ENOUGH, REGRESSED, WITHIN_NOISE

# The smallest number of rounds whose strongest signed-rank result has p < 0.05, two-sided (2/64).
MIN_PAIRS = 6
CONFIDENCE = 0.95
ALPHA = 1 - CONFIDENCE
# Stands for infinity where means are taken: logarithms of ratios are far smaller.
_ENDLESS = 1e9


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval of at least 95 %."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests against a margin (1.05: five per cent up or down): p of the weaker one, and the result."""

    margin: float
    p: float
    shown: bool


def signed_rank(values: Sequence[float]) -> Interval | None:
    """Hodges-Lehmann estimate of the middle, with the interval of the Wilcoxon signed-rank test.

    None with fewer than MIN_PAIRS values: they carry no interval. Values may be infinite.
    """
    if len(values) < MIN_PAIRS:
        return None
    kept = _bounded(values)
    walsh = sorted((kept[i] + kept[j]) / 2 for i in range(len(kept)) for j in range(i, len(kept)))
    skip = _critical(len(kept))
    return Interval(*(_endless(v) for v in (median(walsh), walsh[skip], walsh[-1 - skip])))


def signed_rank_ratio(ratios: Sequence[float]) -> Interval | None:
    """The same estimate of ratios, from their logarithms: 2 and 1/2 are equally far from 1."""
    found = signed_rank([_log_ratio(r) for r in ratios])
    return None if found is None else Interval(*(math.exp(v) for v in (found.estimate, found.low, found.high)))


def _log_ratio(ratio: float) -> float:
    """The logarithm; that of 0, an answer against none, is minus infinity."""
    return math.log(ratio) if ratio else -math.inf


def _bounded(values: Sequence[float]) -> list[float]:
    return [min(max(v, -_ENDLESS), _ENDLESS) for v in values]


def _endless(value: float) -> float:
    """A mean of values as it is, infinite where one of them was."""
    return value if abs(value) < _ENDLESS / 4 else math.copysign(math.inf, value)


def signed_rank_p(ratios: Sequence[float]) -> float | None:
    """Two-sided p of the exact signed-rank test that the middle of the logarithms is 0; None with too few rounds."""
    logs = [_log_ratio(r) for r in ratios]
    if len(logs) < MIN_PAIRS:
        return None
    return float(_signed_rank_test(logs, "two-sided")) if any(logs) else 1.0


def equivalence(ratios: Sequence[float], margin: float) -> Equivalence | None:
    """Equivalence of the ratios within 1/margin to margin: two one-sided exact signed-rank tests, each at 2.5 %, so
    that it is shown exactly when the full 95 % interval lies inside. None with too few rounds.

    A test that finds no difference does not show that there is none; this one does.
    """
    if margin <= 1:
        raise ValueError(f"a margin is a factor above 1, not {margin}")
    logs, limit = [_log_ratio(r) for r in ratios], math.log(margin)
    if len(logs) < MIN_PAIRS:
        return None
    above = _signed_rank_test([v + limit for v in logs], "greater")
    below = _signed_rank_test([v - limit for v in logs], "less")
    p = max(above, below)
    return Equivalence(margin, p, p <= ALPHA / 2)


def _signed_rank_test(values: Sequence[float], alternative: str) -> float:
    """Exact p; equal values (a simulation, a coarse clock) take mean ranks."""
    given = np.asarray([v for v in _bounded(values) if v], dtype=np.float64)
    if len(given) < 2:  # of one value both signs are equally likely
        likely = len(given) == 1 and alternative == ("greater" if given[0] > 0 else "less")
        return 0.5 if likely else 1.0
    from scipy import stats as reference  # its import takes a second, and most runs need no test

    tied = len(set(np.abs(given).tolist())) < len(given) or len(given) < len(values)
    # Flipping all signs is what the exact test counts; for tied ranks scipy does that only on request.
    method = reference.PermutationMethod(n_resamples=2**13, rng=np.random.default_rng(0)) if tied else "exact"
    return float(reference.wilcoxon(given, alternative=alternative, method=method).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p of a family of tests, in the order given: the smallest times their number, the next times one less."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    out, reached = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        reached = max(reached, min(1.0, p_values[i] * (len(p_values) - rank)))
        out[i] = reached
    return out


def noise_factor(low: float | None, high: float | None) -> float | None:
    """The factor by which two equal modes differed: the farther end of their interval, up or down. None: unknown."""
    return None if low is None or high is None else math.exp(max(abs(_log_ratio(low)), abs(_log_ratio(high))))


def verdict(low: float | None, high: float | None, noise: float | None) -> str:
    """The verdict on a ratio of latencies by its interval; a difference within the factor ``noise``, 1 or more, is
    within noise. Without a control, ``noise`` None, there is none.
    """
    if low is None or high is None:
        return NOT_ENOUGH
    if noise is None:
        return NO_CONTROL
    return IMPROVED if high < 1 / noise else REGRESSED if low > noise else WITHIN_NOISE


def _critical(n: int) -> int:
    """Number of the smallest (and largest) Walsh averages that the confidence interval leaves outside."""
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
