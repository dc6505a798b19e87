"""The document as Markdown, for a pull request or a page of documentation: findings and tables of benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_analysis.report import words
from spark_analysis.report.markdown_table import table

_GOAL = ("", "ratio", "theory", "goal", "floor", "measured", "95 % interval", "noise")
_MACHINE = {"cpus": "{} CPUs", "kernel": "Linux {}"}


def summary(document: dict[str, Any]) -> str:
    """One section a run; every number is one of the document."""
    verdict = document["verdict"]
    first = [f"{verdict['mark']} {verdict['text']}", *document["headline"]]
    parts = ["\n".join(f"- **{sentence}**" for sentence in first)]
    parts += ["\n".join(f"- {line}" for line in document["promises"]), _modes(document["modes"])]
    parts += [_skipped(document["skipped"])]
    for trials in document["trials"]:
        parts += [f"## {words.trials(trials)}", "\n".join(f"- {line}" for line in trials["findings"])]
        parts += [_trials(trials["goals"])]
    for run in document["runs"]:
        lines = [*run["findings"], *(f"**{warning}**" for warning in run["warnings"])]
        parts += [f"## {run['run_id']}", "\n".join(f"- {line}" for line in lines)]
        if run["bench"]:
            parts += [_goals(run["bench"]), _latency(run["bench"]), _ratios(run["bench"])]
        parts += [_provenance(run)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _modes(modes: Sequence[dict[str, Any]]) -> str:
    rows = [
        [
            row["run"],
            words.labelled(row["mode"], row["part"]),
            *row["latencies"],
            row["acknowledged"],
            row["survives"],
        ]
        for row in modes
    ]
    return table(["run", "mode", "p50", "p99", "acknowledged", "survives the loss of"], rows) if rows else ""


def _provenance(run: dict[str, Any]) -> str:
    host, backend = run["host"], run["spec"].get("backend", "")
    facts = [
        f"Started {run['started']}",
        f"seed {run['seed']}",
        *(run["versions"][name] for name in run["versions"]),
    ]
    facts += [f"{len(run['patches'])} patches"] if run["patches"] else []
    facts += [text.format(host[name]) for name, text in _MACHINE.items() if name in host]
    return ", ".join([*facts, *([f"backend {backend}"] if backend else [])]) + "."


def _skipped(skipped: Sequence[dict[str, Any]]) -> str:
    return "\n".join(f"- Skipped: {e['what']}. Observed: {e['observed']}. To do: {e['do']}." for e in skipped)


def _ratios(data: dict[str, Any]) -> str:
    rows = []
    for r in data["ratios"]:
        mode = words.labelled(r["mode"], r["part"])
        numbers = [words.number(r["estimate"]), words.span(r), r["rounds"], r["verdict"]]
        rows.append([mode, words.percentile(r["per_thousand"]), *numbers])
    return table(["mode / baseline", "percentile", "ratio", "95 % interval", "rounds", "verdict"], rows) if rows else ""


def _goals(data: dict[str, Any]) -> str:
    rows = [_goal(row) for row in data["goals"]]
    return table([*_GOAL, "rounds", "verdict"], rows) if rows else ""


def _trials(goals: Sequence[dict[str, Any]]) -> str:
    rows = [[*_goal(row), ", ".join(map(words.ratio, sorted(row["by_trial"])))] for row in goals]
    return table([*_GOAL, "trials", "verdict", "each trial"], rows) if rows else ""


def _goal(row: dict[str, Any]) -> list[object]:
    limits = [f"{row['sign']}{row[name]}" for name in ("goal", "floor")]
    numbers = [row["theory"], *limits, words.number(row["estimate"])]
    return [row["id"], row["what"], *numbers, words.span(row), words.noise(row), row["rounds"], row["verdict"]]


def _latency(data: dict[str, Any]) -> str:
    rows = []
    for mode in data["modes"]:
        for part in ("quiet", "fault"):
            found = [p for p in data["pooled"] if (p["role"], p["part"]) == (mode["role"], part)]
            if found:
                label = words.labelled(mode["label"], part)
                rate = next(s["percent"] for s in data["success"] if (s["role"], s["part"]) == (mode["role"], part))
                rows.append([label, words.count(found[0]["n"]), rate, *map(words.latency, found)])
    return table(["mode", "records", "acknowledged", *(words.percentile(q) for q in data["quantiles"])], rows)
