"""More noise never passes more easily: goals, gates and verdicts on random rounds and random noise."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_analysis.report import gates
from spark_analysis.report.benchmark.comparison import compared, noise_at, noises
from spark_analysis.report.benchmark.goals import GOALS, evaluated
from spark_analysis.report.benchmark.plan import against_plan
from spark_analysis.report.benchmark.rounds import Rounds
from spark_analysis.report.gate_file import Gates
from spark_analysis.statistics import stats
from spark_analysis.statistics.verdict_words import FLOOR_MET, GOAL_MET, IMPROVED

PASSING = [GOAL_MET, FLOOR_MET]
MODES = [{"role": role, "label": role, "acks": "all"} for role in ("candidate", "baseline", "control")]
PLAN = against_plan({}, {"modes": MODES}, [])
RATIOS = st.lists(st.floats(0.01, 3), min_size=6, max_size=9)
# The control is apart from the baseline by these in one round: the same, or one farther away, is never less noise.
APART = st.lists(st.floats(0, 0.5), min_size=9, max_size=9)
GATES: list[dict[str, Any]] = [
    {"of": "ratio", "at_most": 1.05},
    {"of": "ratio", "at_least": 0.9},
    {"of": "ratio", "at_least": 0.8, "at_most": 1.2},
    {"of": "ratio", "verdict": [IMPROVED]},
    {"of": "goal", "goal": "P1", "verdict": [FLOOR_MET]},
    {"of": "goal", "goal": "P1", "verdict": [GOAL_MET]},
    {"of": "goal", "goal": "P1"},
]


def run(ratios: list[float], apart: list[float] | None) -> dict[str, Any]:
    """A run whose candidate has these ratios, and whose control is so far from the baseline (None: no control)."""
    rounds = range(len(ratios))
    quantiles = {
        ("candidate", "quiet"): {r: {990: 1000 * ratios[r]} for r in rounds},
        ("baseline", "quiet"): {r: {990: 1000.0} for r in rounds},
    }
    if apart is not None:
        quantiles["control", "quiet"] = {r: {990: 1000 * math.exp(apart[r])} for r in rounds}
    measured = Rounds(quantiles, {})
    noise = noises(measured)
    rows = compared(MODES, measured, noise, PLAN["endpoints"])
    factor = noise_at(noise, "quiet", 990)
    found = measured.ratio(("candidate", "quiet"), ("baseline", "quiet"), 990)
    goal = evaluated(GOALS["P1", 990], found, factor)
    return {"name": "r", "outage": None, "bench": {"ratios": rows, "goals": [goal], "plan": PLAN}}


def passed(document: dict[str, Any], gate: dict[str, Any]) -> bool:
    checked = Gates.model_validate({"gates": [{"name": "g", **gate, "unknown": "met"}]})
    (outcome,) = gates.evaluate(checked, {"runs": [document], "skipped": []})
    return outcome.met


@settings(max_examples=100, deadline=None)
@given(RATIOS, APART, APART)
@pytest.mark.variant
def test_a_noisier_control_never_turns_a_miss_into_a_pass(
    ratios: list[float], apart: list[float], more: list[float]
) -> None:
    """The noise has no sign here, so that a farther control is a noisier one."""
    quiet, noisy = run(ratios, apart), run(ratios, [a + b for a, b in zip(apart, more, strict=True)])
    without = run(ratios, None)
    for gate in GATES:
        assert passed(quiet, gate) or not passed(noisy, gate), f"{gate} passes with more noise"
        assert not passed(without, gate), f"{gate} passes without a control"


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(GOALS, key=str)),
    st.floats(0.001, 3),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
)
def test_a_wider_interval_and_more_noise_never_meet_a_goal_more_easily(
    name: tuple[str, int | str], middle: float, ends: list[float], noise: float, more: float
) -> None:
    goal = GOALS[name]
    narrow = (middle - ends[0] * middle / 2, middle + ends[1])
    wide = (narrow[0] - ends[2] * narrow[0] / 2, narrow[1] + ends[3])

    def met(interval: tuple[float, float], size: float | None) -> bool:
        factor = size if goal.additive or size is None else math.exp(size)
        row = {"estimate": middle, "low": interval[0], "high": interval[1], "rounds": 9, "not_shown": ""}
        return evaluated(goal, row, factor)["verdict"] in PASSING

    assert met(narrow, noise) or not met(wide, noise + more)
    assert not met(narrow, None)


@settings(max_examples=200, deadline=None)
@given(st.floats(0.2, 3), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_mode_is_not_improved_by_more_noise(middle: float, width: float, noise: float, more: float) -> None:
    low, high = middle * math.exp(-width), middle * math.exp(width)
    quiet, noisy = (stats.verdict(low, high, math.exp(size)) for size in (noise, noise + more))
    assert quiet == IMPROVED or noisy != IMPROVED


def test_the_noise_of_a_fault_is_the_greater_of_its_own_and_that_before_it() -> None:
    """A baseline that waits for the end of a pause is alike each time, and one that differs in it alone is noisy."""
    steady, apart = [1.0] * 6, [1.0, 1.3, 0.8, 1.4, 0.7, 1.2]

    def noise(before: list[float] | None, during: list[float] | None) -> float | None:
        made = {"quiet": before, "fault": during}
        quantiles = {("baseline", part): {r: {990: 1000.0} for r in range(6)} for part in made}
        for part, values in made.items():
            if values is not None:
                quantiles["control", part] = {r: {990: 1000 * v} for r, v in enumerate(values)}
        return noise_at(noises(Rounds(quantiles, {})), "fault", 990)

    assert noise(steady, steady) == 1
    assert (noise(steady, apart) or 0) > 1.2
    assert noise(steady, apart) == noise(apart, steady)
    assert noise(None, steady) is None
    assert noise(steady, None) is None
