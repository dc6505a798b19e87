"""Variants of a benchmark against each other, round by round: ratios with their intervals; plain numbers, no Spark."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from spark_analysis.statistics import bootstrap, stats
from spark_analysis.statistics.counts import carried

# A mode_part: the role of a mode and the part of its blocks.
ModePart = tuple[str, str]
BY_ROUND, POOLED = "per round", "pooled"


@dataclass(frozen=True)
class Rounds:
    """Quantiles (µs) of every mode and part: by round and per thousand (None: not carried), pooled, and records."""

    quantiles: Mapping[ModePart, Mapping[int, Mapping[Any, float | None]]]
    pooled: Mapping[ModePart, Mapping[Any, float | None]]
    histograms: Mapping[ModePart, bootstrap.Histogram] = field(default_factory=dict)

    def ratio(self, above: ModePart, below: ModePart, per_thousand: float) -> dict[str, Any] | None:
        """estimate, low, high, p, rounds, method of one mode_part's quantile over the other's; None where a sample is
        short.

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
        complete = [self.pooled.get(mode_part, {}).get(per_thousand) for mode_part in (above, below)]
        if not rounds or complete[0] is None or not complete[1]:
            return None
        found = bootstrap.ratio(self.histograms[above], self.histograms[below], per_thousand)
        return _row(complete[0] / complete[1], found, len(rounds), POOLED, None if found is None else found.p)

    def carries(self, mode_part: ModePart, per_thousand: float) -> bool:
        """True if the pooled sample of a mode_part is large enough for a quantile."""
        return carried(sum(sum(r.values()) for r in self.histograms[mode_part].values()), per_thousand)

    def share_removed(
        self, candidate: ModePart, baseline: ModePart, least: ModePart, per_thousand: float
    ) -> dict[str, Any] | None:
        """The share of the baseline's wait beyond the least that the candidate avoids, 0 to 1."""

        def share(r: int) -> float | None:
            new, old, low = (
                self.quantiles[mode_part][r].get(per_thousand) for mode_part in (candidate, baseline, least)
            )
            if new is None or old is None or low is None or old <= low:
                return None
            return (old - new) / (old - low)

        known = [set(self.quantiles.get(mode_part, {})) for mode_part in (candidate, baseline, least)]
        shares = [share(r) for r in sorted(set.intersection(*known))]
        values = [s for s in shares if s is not None]
        if not values or len(values) < len(shares):
            return None
        return _row(median(values), stats.signed_rank(values), len(values), BY_ROUND)


def ratios(values: list[float]) -> dict[str, Any] | None:
    """Of one ratio a round."""
    if not values:
        return None
    found, p = stats.signed_rank_ratio(values), stats.signed_rank_p(values)
    return _row(median(values), found, len(values), BY_ROUND, p, values)


def noise_of(again: dict[str, Any] | None) -> float:
    """By what factor the baseline differed from itself, of the ratio of its two turns; 1 where it took part once."""
    return 1.0 if again is None else stats.noise_factor(again["low"], again["high"])


def per_round(
    rows: list[dict[str, Any]], above: ModePart, below: ModePart, value: Callable[[dict[str, Any]], float]
) -> dict[str, Any] | None:
    """The ratio of a value that every block has one of; ``rows`` have role, part and pair."""
    variants = [
        {r["pair"]: value(r) for r in rows if (r["role"], r["part"]) == mode_part} for mode_part in (above, below)
    ]
    both = [(variants[0][r], variants[1][r]) for r in sorted(set(variants[0]) & set(variants[1]))]
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
    reported = {"estimate": known[0], "low": known[1], "high": known[2], "p": p}
    return {**reported, "rounds": rounds, "method": method, "by_round": values or []}
