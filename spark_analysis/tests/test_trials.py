"""The same benchmark on several clusters: one ratio a trial, an interval over trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from spark_analysis.report.benchmark import trials
from spark_analysis.report.benchmark.goals import GOALS
from spark_analysis.statistics.verdict_words import FLOOR_MET, GOAL_MET, NO_CONTROL, NOT_ENOUGH, NOT_HERE

MODES = [{"role": "baseline", "label": "acks=all"}, {"role": "candidate", "label": "acks=-2"}]


def goal(name: str, of: int | str, estimate: float | None, **changes: Any) -> dict[str, Any]:
    """A goal of one run, reduced to what trials need of it."""
    row = {"id": name, "what": GOALS[name, of].what, "estimate": estimate, "verdict": NOT_ENOUGH, "not_shown": ""}
    return {**row, **changes}


def trial(number: int, ratio: float | None, again: float | None = 1.0, **spec: Any) -> dict[str, Any]:
    """A run's part, reduced to a goal with its ratio and the ratio of the control."""
    found = goal("P0", 500, ratio)
    noise = {"role": "control", "part": "quiet", "per_thousand": 500, "estimate": again}
    return {
        "run_id": f"r{number}",
        "name": "bench-x",
        "versions": {"rackspan": "1"},
        "patches": ["a.patch"],
        "spec": {"workload": {"name": "x", "modes": MODES}, "backend": "local", "rtt_ms": {"b": number}, **spec},
        "bench": {"goals": [found], "ratios": [noise]},
    }


def test_a_ratio_of_each_trial_and_an_interval_over_trials() -> None:
    observed = [1.0, 1.01, 0.99, 1.02, 1.0, 1.01]
    (found,) = trials.over_trials([trial(n, ratio) for n, ratio in enumerate(observed)])
    assert (found["name"], found["runs"]) == ("bench-x", [f"r{n}" for n in range(6)])
    (row,) = found["goals"]
    assert (row["by_trial"], row["rounds"], row["verdict"]) == (observed, 6, GOAL_MET)
    assert [row[name] for name in ("estimate", "low", "high")] == pytest.approx([1.005, 0.99, 1.02], rel=1e-4)
    assert row["note"].startswith("equal within a factor of 1.05: shown")
    (finding,) = found["findings"]
    assert finding.startswith(
        "bench-x, 6 trials: P0 p50, patched / stock, acks=all: 1.005, 95 % interval 0.990 to 1.020: meets"
    )


def test_trials_that_differ_widen_the_interval() -> None:
    (found,) = trials.over_trials([trial(n, 0.9 + n * 0.03) for n in range(6)])
    assert found["goals"][0]["high"] == pytest.approx(1.05) and found["goals"][0]["verdict"] == FLOOR_MET


def test_noise_over_trials_beyond_the_floor_shows_nothing() -> None:
    (found,) = trials.over_trials([trial(n, 1.0 + n / 1000, again=1.06 + n / 1000) for n in range(6)])
    assert found["goals"][0]["verdict"] == (
        "not shown: acks=all differs from itself by a factor of 1.06, more than the floor"
    )


def test_trials_without_a_control_show_nothing() -> None:
    runs = [trial(n, 1.0 + n / 1000) for n in range(6)]
    for run in runs[:1], runs:
        for one in run:
            one["bench"]["ratios"] = []
        (found,) = trials.over_trials(runs)
        assert found["goals"][0]["verdict"] == NO_CONTROL


def test_another_goal_over_trials_is_evaluated_beside_the_greatest_noise_of_them() -> None:
    def runs(noises: Sequence[float | None]) -> list[dict[str, Any]]:
        made = [trial(n, None) for n in range(6)]
        for run, noise in zip(made, noises, strict=True):
            run["bench"]["goals"] = [goal("P1", 500, 0.85, noise=noise)]
        return made

    observed = [trials.over_trials(runs([*[1.0] * 5, last]))[0]["goals"][0]["verdict"] for last in (1.0, 1.1, None)]
    assert observed == [GOAL_MET, FLOOR_MET, NO_CONTROL]


def test_throughput_is_evaluated_beside_its_own_noise() -> None:
    def runs(again: float) -> list[dict[str, Any]]:
        made = [trial(n, None) for n in range(6)]
        for n, run in enumerate(made):
            ratio = goal("P0", "throughput", 1 - n / 1000)
            run["bench"] |= {"goals": [ratio], "knee": {"ratios": {"control": {"estimate": again + n / 1000}}}}
        return made

    (quiet,), (loud,) = (trials.over_trials(runs(again))[0]["goals"] for again in (0.998, 0.9))
    assert quiet["verdict"] == GOAL_MET and quiet["note"].startswith("equal within a factor of 1.053: shown")
    assert loud["verdict"] == "not shown: acks=all differs from itself by a factor of 1.11, more than the floor"


def test_a_goal_that_no_run_measures_is_not_measured_over_trials() -> None:
    runs = [trial(n, 1.0) for n in range(6)]
    for run in runs:
        run["bench"]["goals"].append(goal("P1", 500, 0.5, verdict=f"{NOT_HERE}: no delays"))
    (found,) = trials.over_trials(runs)
    assert [row["id"] for row in found["goals"]] == ["P0"]


@pytest.mark.parametrize("without", [{"verdict": f"{NOT_HERE}: the racks are not 2 ms apart"}, None])
def test_a_goal_that_only_some_trials_could_measure_has_no_verdict(without: dict[str, Any] | None) -> None:
    runs = [trial(n, 1.0 + n / 1000) for n in range(8)]
    for run in runs[6:]:
        run["bench"]["goals"] = [] if without is None else [goal("P0", 500, 5.0, **without)]
    (found,) = trials.over_trials(runs)
    assert found["goals"][0]["verdict"] == "not shown: measurable in 6 of 8 trials"
    assert (
        found["findings"][0].endswith(
            ": not shown: measurable in 6 of 8 trials (equal within a factor of 1.05: shown, p = 0.016)."
        )
        and found["goals"][0]["rounds"] == 6
    )


def test_few_trials_are_not_enough_and_one_without_a_value_leaves_no_verdict() -> None:
    (few,) = trials.over_trials([trial(n, 1.0) for n in range(5)])
    assert few["goals"][0]["verdict"] == NOT_ENOUGH
    (found,) = trials.over_trials([trial(n, None if n == 3 else 1.0) for n in range(8)])
    assert found["goals"][0]["verdict"] == "not shown: a trial has no value"
    (worst,) = trials.over_trials([trial(n, math.inf if n == 3 else 1.0) for n in range(8)])
    assert worst["goals"][0]["high"] == math.inf and worst["goals"][0]["verdict"].startswith("not shown: the interval")
    runs = [trial(n, 1.0) for n in range(8)]
    runs[2]["bench"]["goals"][0]["not_shown"] = "not shown: 3 acknowledged records of acks=-2 were lost"
    (lost,) = trials.over_trials(runs)
    assert lost["goals"][0]["verdict"] == "not shown: 3 acknowledged records of acks=-2 were lost"
    (nothing,) = trials.over_trials([trial(n, None) for n in range(2)])
    assert nothing["findings"] == ["bench-x, 2 trials: none of its goals was measured."]


def test_only_runs_of_the_same_benchmark_are_trials() -> None:
    other = [
        trial(1, 1.0, workload={"name": "y", "modes": MODES}),
        trial(2, 1.0, backend="netns"),
        {**trial(3, 1.0), "versions": {}},
    ]
    outage = {**trial(4, 1.0), "bench": None}
    assert trials.over_trials([trial(0, 1.0), *other, outage]) == []
