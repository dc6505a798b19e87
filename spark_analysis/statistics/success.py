"""Success rates: the share of the records sent that were acknowledged, or consumed, and which rates are comparable.

A record without an answer counts as infinitely late in each quantile, since a refusal is no fast answer. Even so, two
modes are not compared where one of them leaves more records unanswered: it did less work in the same time.
"""

from __future__ import annotations

from dataclasses import dataclass

# Rates that differ by more than this share of the records are not comparable.
MARGIN = 0.001


@dataclass(frozen=True)
class Success:
    """Records of a mode in one part of its blocks: all that were due, those that had an answer, and those that had one
    and were lost all the same; ``done`` is what an answer is.
    """

    label: str
    records: int
    answered: int
    lost: int = 0
    done: str = "acknowledged"

    @property
    def rate(self) -> float:
        """Share of the records that had an answer, 0 to 1; 0 without records."""
        return self.answered / self.records if self.records else 0.0

    @property
    def percent(self) -> str:
        """The rate with two decimals. 100.00 % is all of them and 0.00 % none."""
        shown = f"{100 * self.rate:.2f} %"
        if self.answered < self.records and shown == "100.00 %":
            return "less than 100 %"
        return "more than 0 %" if self.answered and shown == "0.00 %" else shown


def not_comparable(*variants: Success) -> str:
    """The reason why latencies of these are not compared; empty if they are comparable."""
    lost = [v for v in variants if v.lost]
    if lost:
        return "; ".join(f"{v.lost:,} acknowledged records of {v.label} were lost" for v in lost)
    rates = [v.rate for v in variants]
    if rates and max(rates) - min(rates) > MARGIN + 1e-12:
        first, *others = (f"{v.percent} with {v.label}" for v in variants)
        return ", ".join([first.replace(" with", f" of the records {variants[0].done} with", 1), *others])
    return ""
