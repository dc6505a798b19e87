"""The goals of the benchmark as a table: goal, floor, theory, measured value and verdict.

Numbers are those of the project's performance goals (P0 to P8); a floor must hold before a release.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from spark_analysis.statistics.verdict_words import (
    ACROSS,
    BEYOND,
    FLOOR_MET,
    GOAL_MET,
    NO_CONTROL,
    NOT_ENOUGH,
    NOT_HERE,
)


@dataclass(frozen=True)
class Goal:
    """A ratio that should be at or below (``at_least``: at or above) its goal, and must be so for its floor. With
    ``least`` it must lie between that and the goal, which is then the floor too.
    """

    id: str
    what: str
    theory: str
    goal: float
    floor: float
    at_least: bool = False
    least: float | None = None
    # A ratio, whose noise is a factor; a share (0 to 1) or ms, whose noise is one too.
    unit: str = "ratio"

    @property
    def additive(self) -> bool:
        """True where the noise is added rather than multiplied."""
        return self.unit != "ratio"

    @property
    def sign(self) -> str:
        """The sign before goal and floor."""
        return f"{self.least} to " if self.least is not None else "≥ " if self.at_least else "≤ "


PROCESSOR_TIME = "processor time"
# By id and quantile (per thousand), or the name of another measure.
GOALS: dict[tuple[str, int | str], Goal] = {
    ("P0", 500): Goal("P0", "p50, patched / stock, acks=all", "1", 1.03, 1.05),
    ("P0", 990): Goal("P0", "p99, patched / stock, acks=all", "1", 1.05, 1.10),
    ("P0", "throughput"): Goal("P0", "maximum answers/s, patched / stock, acks=all", "1", 0.98, 0.95, at_least=True),
    ("P0", PROCESSOR_TIME): Goal(
        "P0", "processor time of the brokers per record, patched / stock, acks=all", "1", 1.03, 1.05
    ),
    ("P1", 500): Goal("P1", "p50, racks 2 ms apart, candidate / acks=all", "0.84", 0.90, 1.0),
    ("P1", 990): Goal("P1", "p99, racks 2 ms apart, candidate / acks=all", "0.77", 0.80, 1.0),
    ("P2", 500): Goal("P2", "p50, near rack 2 ms, far 20 ms, candidate / acks=all", "0.14", 0.20, 0.30),
    ("P2", 990): Goal("P2", "p99, near rack 2 ms, far 20 ms, candidate / acks=all", "0.15", 0.25, 0.35),
    ("P2", "share"): Goal(
        "P2", "share of acks=all's wait removed, p50", "0.88", 0.85, 0.75, at_least=True, unit="share"
    ),
    # Goal and floor are shares of the ideal; a row has them in ms (see `of_the_ideal`).
    ("P3", 500): Goal("P3", "p50 after the ideal quorum, candidate less acks=all, ms", "0", 0.05, 0.15, unit="ms"),
    ("P3", 990): Goal("P3", "p99 after the ideal quorum, candidate less acks=all, ms", "0", 0.10, 0.25, unit="ms"),
    ("P4", 999): Goal("P4", "p99.9, a follower paused, candidate / the same without that follower", "1", 1.2, 2.0),
    ("P4", "max"): Goal("P4", "maximum, a follower paused, candidate / acks=all", "about 0.001", 0.05, 0.2),
    ("P6", 999): Goal("P6", "p99.9, followers stall on their own, candidate / acks=all", "about 0.1", 0.25, 0.5),
    ("P7", 500): Goal("P7", "p50, acks=min.insync.replicas at level 2 / at level 1", "1.1", 1.10, 1.25),
    ("P7", 990): Goal("P7", "p99, acks=min.insync.replicas at level 2 / at level 1", "1.1", 1.25, 1.5),
    ("P7", "gap"): Goal(
        "P7",
        "longest silence, the leader killed, acks=min.insync.replicas at level 2 / acks=all of stock",
        "1",
        1.05,
        1.1,
    ),
    ("P8", 500): Goal("P8", "p50 from due to consumed, candidate / acks=all", "1", 1.05, 1.05, least=0.95),
    ("P8", 990): Goal("P8", "p99 from due to consumed, candidate / acks=all", "1", 1.05, 1.05, least=0.95),
    ("P5", "gap"): Goal(
        "P5", "longest silence, a rack of followers killed, candidate / acks=all", "about 0", 0.05, 0.2
    ),
}


# In place of a ratio.
NOT_MEASURED: dict[str, Any] = {"estimate": None, "low": None, "high": None, "rounds": 0, "not_shown": ""}


def of_the_ideal(goal: Goal, ideal_ms: float) -> Goal:
    """The goal with its limits in ms, where they are shares of an ideal time."""
    return replace(goal, goal=float(f"{goal.goal * ideal_ms:.3g}"), floor=float(f"{goal.floor * ideal_ms:.3g}"))


def evaluated(
    goal: Goal, found: dict[str, Any] | None, noise: float | None, *, why_not: str = "", note: str = ""
) -> dict[str, Any]:
    """One row: ``found`` has estimate, low, high and rounds; ``noise`` is what the baseline differs from itself by,
    None without a control; ``why_not`` why this run cannot measure it.
    """
    found = found or NOT_MEASURED
    observed = {k: found[k] for k in ("estimate", "low", "high", "rounds", "not_shown")}
    row = {**vars(goal), "sign": goal.sign, **observed, "noise": noise, "note": note}
    if why_not:
        return {**row, "verdict": f"{NOT_HERE}: {why_not}"}
    return {**row, "verdict": found["not_shown"] or verdict(goal, found["low"], found["high"], noise)}


def verdict(goal: Goal, low: float | None, high: float | None, noise: float | None) -> str:
    """The verdict by the full interval, which is made wider by the noise: more noise never passes more easily."""
    if low is None or high is None:
        return NOT_ENOUGH
    if noise is None:
        return NO_CONTROL
    low, high = (low - noise, high + noise) if goal.additive else (low / noise, high * noise)
    if goal.least is not None:
        inside, outside = goal.least <= low and high <= goal.goal, high < goal.least or low > goal.goal
        return GOAL_MET if inside else BEYOND if outside else ACROSS
    # Signs are changed where more is better, so that one comparison serves both.
    far, near = (-low, -high) if goal.at_least else (high, low)
    goal_at, floor_at = (-goal.goal, -goal.floor) if goal.at_least else (goal.goal, goal.floor)
    if far <= goal_at:
        return GOAL_MET
    if far <= floor_at:
        return FLOOR_MET
    return BEYOND if near > floor_at else ACROSS
