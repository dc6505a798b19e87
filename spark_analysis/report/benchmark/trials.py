"""The same benchmark run several times, each trial on a fresh cluster: one ratio a trial.

JIT compilation and memory layout of a broker stay the same until it ends: all rounds of a trial share them, and an
interval over rounds does not include their effect. Only several trials separate it from the effect that is measured
(P0).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from spark_analysis.report import words
from spark_analysis.report.benchmark.goals import GOALS, evaluated
from spark_analysis.report.benchmark.rounds import differences, noise_of, ratios
from spark_analysis.report.benchmark.verdicts import against_stock
from spark_analysis.statistics.verdict_words import NOT_HERE, NOT_SHOWN

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
                row = evaluated(goal, found, _worst([row["noise"] for row in answered]))
            goals.append({**row, "by_trial": found["by_round"]})
    name = runs[0]["name"]
    label = next(m["label"] for m in runs[0]["spec"]["workload"]["modes"] if m["role"] == "candidate")
    findings = words.trials_findings(name, len(runs), goals, label)
    return {"name": name, "runs": [run["run_id"] for run in runs], "goals": goals, "findings": findings}


def _worst(noises: Sequence[float | None]) -> float | None:
    """The greatest noise of the trials, at least one; None if one is not known."""
    known = [noise for noise in noises if noise is not None]
    return max(known) if len(known) == len(noises) else None


def _noise(runs: Sequence[dict[str, Any]], of: int | str) -> float | None:
    """The factor by which the baseline differed from its control over the trials; None where one has no control."""
    observed = [again["estimate"] for run in runs if (again := _again(run["bench"], of))]
    return noise_of(ratios(observed)) if len(observed) == len(runs) else None


def _again(bench: dict[str, Any], of: int | str) -> dict[str, Any] | None:
    """The ratio of the control, the baseline once more, to the baseline."""
    if of == "throughput":
        known: dict[str, dict[str, Any] | None] = bench["knee"]["ratios"] if bench["knee"] else {}
        return known.get("control")
    place = "control", "quiet", of
    return next((r for r in bench["ratios"] if (r["role"], r["part"], r["per_thousand"]) == place), None)
