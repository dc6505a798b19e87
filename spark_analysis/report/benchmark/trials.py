"""The same benchmark run several times, each time on a cluster of its own: one ratio a trial.

The code that the JIT compiler made for a broker and the layout of its memory stay until it ends: all rounds of one
trial share them, and an interval over rounds does not show them. Only several trials separate them from the
difference that is measured (P0).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from spark_analysis.report import words
from spark_analysis.report.benchmark.goals import GOALS, evaluated
from spark_analysis.report.benchmark.rounds import noise_of, ratios
from spark_analysis.report.benchmark.verdicts import against_stock
from spark_analysis.statistics.verdict_words import NOT_HERE

_SAME, _SAME_SPEC = ("name", "versions", "patches"), ("workload", "backend")


def over_trials(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of every benchmark that was run more than once with the same spec and versions: name, runs, findings in words,
    and goals, rows as those of one run, whose ``by_trial`` holds one ratio a trial and whose interval is one over
    trials.
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
        # What a run cannot answer, many of them cannot either.
        answered = [row for row in rows if not row["verdict"].startswith(NOT_HERE)]
        found = ratios([row["estimate"] for row in answered if row["estimate"]])
        if found is not None:
            row = against_stock(of, found, _noise(runs, of)) if name == "P0" else evaluated(goal, found)
            goals.append({**row, "by_trial": found["by_round"]})
    name = runs[0]["name"]
    label = next(m["label"] for m in runs[0]["spec"]["workload"]["modes"] if m["role"] == "candidate")
    reported = words.trials_findings(name, len(runs), goals, label)
    return {"name": name, "runs": [run["run_id"] for run in runs], "goals": goals, "findings": reported}


def _noise(runs: Sequence[dict[str, Any]], of: int | str) -> float:
    """By what factor the baseline differed from itself over the trials; 1 where it took part once."""
    observed = [again["estimate"] for run in runs if (again := _again(run["bench"], of))]
    return noise_of(ratios(observed))


def _again(bench: dict[str, Any], of: int | str) -> dict[str, Any] | None:
    """The ratio of the baseline that took part once more to the baseline."""
    if of == "throughput":
        known: dict[str, dict[str, Any] | None] = bench["knee"]["ratios"] if bench["knee"] else {}
        return known.get("control")
    place = "control", "quiet", of
    return next((r for r in bench["ratios"] if (r["role"], r["part"], r["per_thousand"]) == place), None)
