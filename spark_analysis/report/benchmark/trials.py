"""The same benchmark run several times, each trial on a fresh cluster: one ratio a trial.

JIT compilation and memory layout of a broker stay the same until it ends: all rounds of a trial share them, and an
interval over rounds does not include their effect. Only several trials separate it from the effect that is measured
(P0).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from spark_analysis.report import words
from spark_analysis.report.benchmark.goals import GOALS, PROCESSOR_TIME, evaluated
from spark_analysis.report.benchmark.rounds import differences, noise_of, ratios, worst
from spark_analysis.report.benchmark.verdicts import against_stock, has_stock_control
from spark_analysis.statistics.verdict_words import NOT_HERE, NOT_SHOWN

_Control = Callable[[dict[str, Any], int | str], dict[str, Any] | None]
_NO_VALUE = f"{NOT_SHOWN}a trial has no value"
_SAME, _SAME_SPEC = ("name", "versions", "patches"), ("workload", "backend")


def over_trials(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every benchmark that was run more than once with the same spec and versions: name, runs, findings, and goals.
    Their rows are as those of one run; ``by_trial`` holds one ratio a trial, and the interval is one over trials.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        if part["bench"]:
            same = [part[name] for name in _SAME] + [part["spec"][name] for name in _SAME_SPEC]
            groups.setdefault(json.dumps(same, sort_keys=True), []).append(part)
    return [_together(runs) for runs in groups.values() if len(runs) > 1]


def _together(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    goals = []
    for (name, of), goal in GOALS.items():
        rows = [row for run in runs for row in run["bench"]["goals"] if (row["id"], row["what"]) == (name, goal.what)]
        # A goal that a run cannot measure, several runs cannot either.
        answered = [row for row in rows if not row["verdict"].startswith(NOT_HERE)]
        if not any(row["estimate"] is not None for row in answered):
            continue
        # A trial without a value is not skipped: it may be the one in which nothing was answered.
        reasons = [row["not_shown"] or _NO_VALUE for row in answered if row["not_shown"] or row["estimate"] is None]
        if len(answered) < len(runs):  # nor is one that could not measure it: those that could may be the fast ones
            reasons.append(f"{NOT_SHOWN}measurable in {len(answered)} of {len(runs)} trials")
        known = [row["estimate"] for row in answered if row["estimate"] is not None]
        # Limits in ms follow from each run's own numbers: over trials the strictest count.
        if goal.unit == "ms":
            limits = {limit: min(row[limit] for row in answered) for limit in ("goal", "floor")}
            goal = replace(goal, **limits)
        found = (differences if goal.additive else ratios)(known, reasons[0] if reasons else "")
        if found is not None:
            if name == "P0":
                row = against_stock(of, found, _noise(runs, of))
            else:
                row = evaluated(goal, found, worst([row["noise"] for row in answered]))
            goals.append({**row, "by_trial": found["by_round"]})
    name = runs[0]["name"]
    label = next(m["label"] for m in runs[0]["spec"]["workload"]["modes"] if m["role"] == "candidate")
    findings = words.trials_findings(name, len(runs), goals, label)
    return {"name": name, "runs": [run["run_id"] for run in runs], "goals": goals, "findings": findings}


def _noise(runs: Sequence[dict[str, Any]], of: int | str) -> float | None:
    """The greater factor by which the baseline differed from its control over the trials, and stock from its own where
    it has one; None where a trial lacks one.
    """
    # All runs have the same modes
    controls = (_again, _stock_again) if has_stock_control(runs[0]["spec"]["workload"]["modes"]) else (_again,)
    return worst([_over_trials(runs, of, control) for control in controls])


def _over_trials(runs: Sequence[dict[str, Any]], of: int | str, control: _Control) -> float | None:
    observed = [again["estimate"] for run in runs if (again := control(run["bench"], of))]
    return noise_of(ratios(observed)) if len(observed) == len(runs) else None


def _again(bench: dict[str, Any], of: int | str) -> dict[str, Any] | None:
    """The ratio of the control, the baseline once more, to the baseline."""
    found: dict[str, Any] | None
    if of == "throughput":
        found = bench["knee"]["ratios"].get("control") if bench["knee"] else None
    elif of == PROCESSOR_TIME:
        found = bench["processor_time"]["again"] if bench["processor_time"] else None
    else:
        place = "control", "quiet", of
        found = next((r for r in bench["ratios"] if (r["role"], r["part"], r["per_thousand"]) == place), None)
    return found


def _stock_again(bench: dict[str, Any], of: int | str) -> dict[str, Any] | None:
    """The ratio of stock once more to stock."""
    of_measure: dict[int | str, dict[str, Any] | None] = {
        **bench["stock_again"],
        "throughput": bench["knee"] and bench["knee"]["stock_again"],
        PROCESSOR_TIME: bench["processor_time"] and bench["processor_time"]["stock_again"],
    }
    return of_measure.get(of)
