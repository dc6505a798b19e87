"""Variants of a benchmark against each other, round by round: ratios with their intervals; plain numbers, no Spark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from spark_analysis.statistics import label_swap, stats
from spark_analysis.statistics.counts import carried, quantile
from spark_analysis.statistics.selection import Selected, not_selected
from spark_analysis.statistics.success import Success, not_comparable
from spark_analysis.statistics.verdict_words import NO_ANSWER, NOT_SHOWN

# The role of a mode and the part of its blocks.
Variant = tuple[str, str]
BY_ROUND, POOLED = "per round", "pooled"


@dataclass(frozen=True)
class Rounds:
    """Quantiles (µs) of every mode and part: by round and per thousand (None: not carried; infinite: no answer),
    pooled, and records; how many of them had an answer; the blocks that count; and the verdict where the run did not
    follow its plan, else empty.
    """

    quantiles: Mapping[Variant, Mapping[int, Mapping[Any, float | None]]]
    pooled: Mapping[Variant, Mapping[Any, float | None]]
    histograms: Mapping[Variant, label_swap.Histogram] = field(default_factory=dict)
    success: Mapping[Variant, Success] = field(default_factory=dict)
    selected: Mapping[Variant, Selected] = field(default_factory=dict)
    off_plan: str = ""

    def not_shown(self, *variants: Variant) -> str:
        """The verdict where variants cannot be compared: for their success rates, lost records, the plan, or the blocks
        that are invalid; empty if they can.
        """
        reason = self._reason(*(self.success[v] for v in variants if v in self.success)) or self.off_plan
        return reason or self.unbalanced(*variants)

    def unbalanced(self, *variants: Variant) -> str:
        """The verdict where one of them has more invalid blocks than another; empty if they can be compared."""
        reason = not_selected(*(self.selected[v] for v in variants if v in self.selected))
        return f"{NOT_SHOWN}{reason}" if reason else ""

    @staticmethod
    def _reason(*variants: Success) -> str:
        reason = not_comparable(*variants)
        return f"{NOT_SHOWN}{reason}" if reason else ""

    def beside_ideal(self, variant: Variant) -> str:
        """The same beside an ideal that answers every record."""
        mine = self.success.get(variant)
        reason = self._reason(mine, Success("the ideal", mine.records, mine.records)) if mine else ""
        return reason or self.off_plan

    def ratio(self, above: Variant, below: Variant, per_thousand: float) -> dict[str, Any] | None:
        """estimate, low, high, p, rounds, method and not_shown of the ratio of one variant's quantile to another's;
        None where a sample is too small.

        Where every block carries the quantile it is the signed-rank estimate of the rounds' ratios, else the ratio of
        the quantiles pooled over the rounds that both have, with the interval of swapped labels. low and high are None
        with too few rounds.
        ``not_shown`` is the verdict where there can be no other.
        """
        not_shown = self.not_shown(above, below)
        rounds = sorted(set(self.quantiles.get(above, {})) & set(self.quantiles.get(below, {})))
        pairs = [
            (self.quantiles[above][r].get(per_thousand), self.quantiles[below][r].get(per_thousand)) for r in rounds
        ]
        by_round = [(a, b) for a, b in pairs if a is not None and b is not None]
        if rounds and len(by_round) == len(rounds):
            return ratios([divided(a, b) for a, b in by_round], not_shown)
        if not rounds and self.unbalanced(above, below):
            return _row(None, None, 0, BY_ROUND, not_shown=not_shown)
        each = [self.histograms.get(variant, {}) for variant in (above, below)]
        known = [self.pooled.get(variant, {}).get(per_thousand) for variant in (above, below)]
        pooled = over_common_rounds(each[0], each[1], per_thousand, known)
        if not rounds or pooled[0] is None or pooled[1] is None:
            return None
        found = label_swap.ratio(self.histograms[above], self.histograms[below], per_thousand)
        middle = divided(pooled[0], pooled[1])
        if middle is None:
            return _row(None, None, len(rounds), POOLED, not_shown=not_shown or NO_ANSWER)
        return _row(middle, found, len(rounds), POOLED, None if found is None else found.p, not_shown=not_shown)

    def answers(self, variant: Variant, per_thousand: float) -> bool:
        """True if the pooled sample of a variant is large enough for a quantile, and has answers up to it."""
        rounds = self.histograms[variant].values()
        total = sum(sum(r.values()) for r in rounds)
        answered = total - sum(r.get(math.inf, 0) for r in rounds)
        return carried(total, per_thousand) and answered > total * per_thousand / 1000

    def share_removed(
        self, candidate: Variant, baseline: Variant, least: Variant, per_thousand: float
    ) -> dict[str, Any] | None:
        """The share of the baseline's wait beyond the least that the candidate avoids, 0 to 1."""

        def share(r: int) -> float | None:
            new, old, low = (self.quantiles[variant][r].get(per_thousand) for variant in (candidate, baseline, least))
            if new is None or old is None or low is None or old <= low or math.isinf(old):
                return None
            return (old - new) / (old - low)

        known = [set(self.quantiles.get(variant, {})) for variant in (candidate, baseline, least)]
        shares = [share(r) for r in sorted(set.intersection(*known))]
        values = [s for s in shares if s is not None]
        if not values or len(values) < len(shares):
            return None
        return differences(values, self.not_shown(candidate, baseline, least))


def over_common_rounds(
    upper: label_swap.Histogram, lower: label_swap.Histogram, per_thousand: float, known: Sequence[float | None]
) -> Sequence[float | None]:
    """A quantile of two variants, pooled over the rounds that both have: ``known``, which is that of all rounds, where
    each has all; None where the rounds do not carry it.
    """
    rounds = set(upper) & set(lower)
    if set(upper) == set(lower):
        return known
    return [_pooled([of_rounds[r] for r in rounds], per_thousand) for of_rounds in (upper, lower)]


def _pooled(rounds: Sequence[Mapping[float, int]], per_thousand: float) -> float | None:
    together: Counter[float] = Counter()
    for of_round in rounds:
        together.update(of_round)
    if not carried(together.total(), per_thousand):
        return None
    values = np.array(sorted(together), dtype=np.float64)
    return quantile(values, np.array([together[v] for v in values.tolist()]), [per_thousand])[0]


def differences(values: Sequence[float], not_shown: str = "") -> dict[str, Any] | None:
    """The row of one difference (or share) a round; None without any."""
    if not values:
        return None
    return _row(median(values), stats.signed_rank(values), len(values), BY_ROUND, None, list(values), not_shown)


def shifted(
    upper: label_swap.Histogram, lower: label_swap.Histogram, per_thousand: float, apart_us: float
) -> dict[str, Any]:
    """The row (ms) of the difference of two pooled quantiles, with the interval of swapped labels."""
    found = label_swap.shift(upper, lower, [per_thousand])
    rounds, middle = len(set(upper) & set(lower)), apart_us / 1000
    if found is None:
        return _row(middle, None, rounds, POOLED)
    interval = stats.Interval(middle, found[0].low / 1000, found[0].high / 1000)
    return _row(middle, interval, rounds, POOLED, found[0].p)


def divided(above: float, below: float) -> float | None:
    """The ratio of two values, of which one may be infinite or 0: infinite or 0; None if both are."""
    if (math.isinf(above) and math.isinf(below)) or not (above or below):
        return None
    return math.inf if math.isinf(above) or not below else above / below


def ratios(values: Sequence[float | None], not_shown: str = "") -> dict[str, Any] | None:
    """The row of one ratio a round, None for a round without an answer in either mode; None without any."""
    if not values:
        return None
    known = [v for v in values if v is not None]
    if len(known) < len(values):
        return _row(None, None, len(values), BY_ROUND, not_shown=not_shown or NO_ANSWER)
    found, p = stats.signed_rank_ratio(known), stats.signed_rank_p(known)
    return _row(median(known), found, len(known), BY_ROUND, p, known, not_shown)


def noise_of(again: dict[str, Any] | None) -> float | None:
    """The factor by which the baseline differed from its control, from their ratio; None where that is not known."""
    return None if again is None or again["not_shown"] else stats.noise_factor(again["low"], again["high"])


def worst(noises: Sequence[float | None]) -> float | None:
    """The greatest noise of at least one; None if one is not known."""
    known = [noise for noise in noises if noise is not None]
    return max(known) if len(known) == len(noises) else None


def per_round(
    rows: list[dict[str, Any]],
    above: Variant,
    below: Variant,
    value: Callable[[dict[str, Any]], float],
    not_shown: str = "",
) -> dict[str, Any] | None:
    """The ratio of a value that every block has once; ``rows`` have role, part and pair."""
    values = [{r["pair"]: value(r) for r in rows if (r["role"], r["part"]) == variant} for variant in (above, below)]
    both = [(values[0][r], values[1][r]) for r in sorted(set(values[0]) & set(values[1]))]
    return ratios([divided(a, b) for a, b in both], not_shown)


def _row(
    middle: float | None,
    found: stats.Interval | None,
    rounds: int,
    method: str,
    p: float | None = None,
    values: list[float] | None = None,
    not_shown: str = "",
) -> dict[str, Any]:
    known = (middle, None, None) if found is None else (found.estimate, found.low, found.high)
    if method == POOLED:
        known = (middle, *known[1:])
    row = {"estimate": known[0], "low": known[1], "high": known[2], "p": p, "not_shown": not_shown}
    return {**row, "rounds": rounds, "method": method, "by_round": values or []}
