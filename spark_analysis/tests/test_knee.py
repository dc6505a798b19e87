"""Throughput at the knee: its ratios have noise, verdict and headline as those of latency have."""

from __future__ import annotations

from typing import Any

import pytest

from spark_analysis.report.benchmark.headline import headline
from spark_analysis.report.benchmark.knee import knee
from spark_analysis.statistics.verdict_words import IMPROVED, NO_CONTROL, NOT_ENOUGH, REGRESSED, WITHIN_NOISE

MODES = [
    {"role": "candidate", "label": "acks=-2"},
    {"role": "baseline", "label": "acks=all"},
    {"role": "control", "label": "acks=all once more"},
]


def found(of_roles: dict[str, float], off_plan: str = "", rounds: int = 6) -> dict[str, Any]:
    """The knee of rounds in which each role answers so many records a second, and a little more each round."""
    place = {"part": "rate-200", "block": 0, "rate": 200.0, "p99_us": 1.0, "lag_p99_us": 1.0, "beyond": ""}
    steps = [
        {**place, "role": role, "mode": role, "pair": pair, "acked_per_s": per_s + pair / 100}
        for pair in range(rounds)
        for role, per_s in of_roles.items()
    ]
    return knee(MODES, steps, {}, off_plan)


def said(data: dict[str, Any]) -> str:
    (sentence,) = headline([{"name": "ramp", "bench": {"knee": data, "modes": MODES}}])
    return sentence


@pytest.mark.parametrize(
    ("candidate", "control", "verdict"),
    [
        (190.0, 101.0, IMPROVED),
        (60.0, 101.0, REGRESSED),
        (101.0, 105.0, WITHIN_NOISE),
        (99.0, 95.0, WITHIN_NOISE),
        (190.0, None, NO_CONTROL),
    ],
)
def test_more_answers_than_the_noise_explains_are_better(candidate: float, control: float | None, verdict: str) -> None:
    roles = {"candidate": candidate, "baseline": 100.0} | ({} if control is None else {"control": control})
    data = found(roles)
    assert data["ratios"]["candidate"]["verdict"] == verdict
    assert data["ratios"]["candidate"]["noise"] == (
        None if control is None else pytest.approx(max(control / 100, 100 / control), rel=0.01)
    )
    assert said(data).endswith(f"], {verdict}.")


def test_few_rounds_carry_no_verdict() -> None:
    assert said(found({"candidate": 190.0, "baseline": 100.0, "control": 100.0}, rounds=5)).endswith(f", {NOT_ENOUGH}.")


def test_a_run_off_its_plan_has_no_headline_about_throughput() -> None:
    reason = "not shown: the run ended after 6 of its 10 planned rounds"
    data = found({"candidate": 190.0, "baseline": 100.0, "control": 100.0}, reason)
    assert data["ratios"]["candidate"]["verdict"] == reason
    assert said(data) == f"ramp: acks=-2 and acks=all are not compared, {reason}."
