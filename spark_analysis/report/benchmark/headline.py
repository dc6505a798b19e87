"""The headline of benchmarks: latency with acks=min.insync.replicas against acks=all, and what each promises."""

from __future__ import annotations

from typing import Any

from spark_analysis.report import words
from spark_analysis.report.promises import promise
from spark_analysis.statistics.verdict_words import NOT_ENOUGH

# The highest of these that the samples carry.
_QUANTILES = (990, 900, 500)


def headline(parts: list[dict[str, Any]]) -> list[str]:
    """One sentence a benchmark: the candidate against the baseline."""
    return [sentence for part in parts if part["bench"] for sentence in _beside(part)]


def _beside(part: dict[str, Any]) -> list[str]:
    data = part["bench"]
    modes = {m["role"]: m for m in data["modes"]}
    new, old = modes["candidate"], modes["baseline"]
    if data.get("knee"):
        return _knee(part["name"], data["knee"], new, old)
    broken = "fault" if data["fault"] else "quiet"
    found = {r["per_thousand"]: r for r in data["ratios"] if (r["role"], r["part"]) == ("candidate", broken)}
    deepest = next((q for q in _QUANTILES if q in found), None)
    if deepest is None:
        return []
    row = found[deepest]
    during = words.during(broken)
    return [
        _not_compared(part["name"], new, old, during, row)
        or f"{part['name']}: {new['label']} answers in {words.number(row['estimate'])} of {old['label']}'s "
        f"{words.percentile(deepest)}{during}, {_span(row)}."
    ]


def _not_compared(name: str, new: dict[str, Any], old: dict[str, Any], during: str, row: dict[str, Any]) -> str:
    """The sentence in place of a ratio that is not shown; empty for one that is."""
    of = f"{name}: {new['label']} and {old['label']} are not compared{during}"
    return f"{of}, {row['not_shown']}." if row["not_shown"] else ""


def _span(row: dict[str, Any]) -> str:
    """The interval of a ratio and its verdict."""
    if row["low"] is None:
        return NOT_ENOUGH
    return f"[{words.number(row['low'])} to {words.number(row['high'])}], {row['verdict']}"


def promises(parts: list[dict[str, Any]]) -> list[str]:
    """The promise of an acknowledgement in each of the compared modes, each once."""
    lines = [line for part in parts if part["bench"] for line in _promises(part["bench"])]
    return list(dict.fromkeys(lines))


def _promises(data: dict[str, Any]) -> list[str]:
    modes = [m for m in data["modes"] if m["role"] in ("candidate", "baseline")]
    found = [promise(m["acks"], {**data["workload"]["topic"]["settings"], **m["topic"]}, m.get("level")) for m in modes]
    return [line for line in found if line]


def _knee(name: str, data: dict[str, Any], new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    found = data["ratios"].get("candidate")
    if found is None:
        return []
    reaches = f"{new['label']} reaches {words.number(found['estimate'])} of {old['label']}'s throughput"
    return [_not_compared(name, new, old, "", found) or f"{name}: {reaches}, {_span(found)}."]
