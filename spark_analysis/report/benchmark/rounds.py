"""Variants of a benchmark against each other, round by round: ratios with their intervals; plain numbers, no Spark."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from spark_analysis.statistics import bootstrap, stats
from spark_analysis.statistics.counts import carried

# The role of a mode and the part of its blocks.
Variant = tuple[str, str]
BY_ROUND, POOLED = "per round", "pooled"


@dataclass(frozen=True)
class Rounds:
    """Quantiles (µs) of every mode and part: by round and per thousand (None: not carried), pooled, and records."""

    quantiles: Mapping[Variant, Mapping[int, Mapping[Any, float | None]]]
    pooled: Mapping[Variant, Mapping[Any, float | None]]
    histograms: Mapping[Variant, bootstrap.Histogram] = field(default_factory=dict)

    def ratio(self, above: Variant, below: Variant, per_thousand: float) -> dict[str, Any] | None:
        """estimate, low, high, p, rounds and method of the ratio of one variant's quantile to another's; None where a
        sample is too small.

        Where every block carries the quantile it is the signed-rank estimate of the rounds' ratios, else the ratio of
        the quantiles pooled over blocks with a bootstrap interval. low and high are None with too few rounds.
        """
        rounds = sorted(set(self.quantiles.get(above, {})) & set(self.quantiles.get(below, {})))
        pairs = [
            (self.quantiles[above][r].get(per_thousand), self.quantiles[below][r].get(per_thousand)) for r in rounds
        ]
        carried = [(a, b) for a, b in pairs if a is not None and b is not None and a > 0 and b > 0]
        if rounds and len(carried) == len(rounds):
            return ratios([a / b for a, b in carried])
        pooled = [self.pooled.get(variant, {}).get(per_thousand) for variant in (above, below)]
        if not rounds or pooled[0] is None or not pooled[1]:
            return None
        found = bootstrap.ratio(self.histograms[above], self.histograms[below], per_thousand)
        return _row(pooled[0] / pooled[1], found, len(rounds), POOLED, None if found is None else found.p)

    def carries(self, variant: Variant, per_thousand: float) -> bool:
        """True if the pooled sample of a variant is large enough for a quantile."""
        return carried(sum(sum(r.values()) for r in self.histograms[variant].values()), per_thousand)

    def share_removed(
        self, candidate: Variant, baseline: Variant, least: Variant, per_thousand: float
    ) -> dict[str, Any] | None:
        """The share of the baseline's wait beyond the least that the candidate avoids, 0 to 1."""

        def share(r: int) -> float | None:
            new, old, low = (self.quantiles[variant][r].get(per_thousand) for variant in (candidate, baseline, least))
            if new is None or old is None or low is None or old <= low:
                return None
            return (old - new) / (old - low)

        known = [set(self.quantiles.get(variant, {})) for variant in (candidate, baseline, least)]
        shares = [share(r) for r in sorted(set.intersection(*known))]
        values = [s for s in shares if s is not None]
        if not values or len(values) < len(shares):
            return None
        return _row(median(values), stats.signed_rank(values), len(values), BY_ROUND)


def ratios(values: list[float]) -> dict[str, Any] | None:
    """The row of one ratio a round; None without any."""
    if not values:
        return None
    found, p = stats.signed_rank_ratio(values), stats.signed_rank_p(values)
    return _row(median(values), found, len(values), BY_ROUND, p, values)


def noise_of(again: dict[str, Any] | None) -> float | None:
    """The factor by which the baseline differed from its control, from their ratio; None where that is not known."""
    return None if again is None else stats.noise_factor(again["low"], again["high"])


def per_round(
    rows: list[dict[str, Any]], above: Variant, below: Variant, value: Callable[[dict[str, Any]], float]
) -> dict[str, Any] | None:
    """The ratio of a value that every block has once; ``rows`` have role, part and pair."""
    values = [{r["pair"]: value(r) for r in rows if (r["role"], r["part"]) == variant} for variant in (above, below)]
    both = [(values[0][r], values[1][r]) for r in sorted(set(values[0]) & set(values[1]))]
    return ratios([a / b for a, b in both if a > 0 and b > 0])


def _row(
    middle: float,
    found: stats.Interval | None,
    rounds: int,
    method: str,
    p: float | None = None,
    values: list[float] | None = None,
) -> dict[str, Any]:
    known = (middle, None, None) if found is None else (found.estimate, found.low, found.high)
    if method == POOLED:
        known = (middle, *known[1:])
    if not all(v is None or math.isfinite(v) for v in known):
        known = (middle, None, None)
    row = {"estimate": known[0], "low": known[1], "high": known[2], "p": p}
    return {**row, "rounds": rounds, "method": method, "by_round": values or []}
