"""The headline: latency with acks=min.insync.replicas against acks=all, the guarantee, and lost records."""

from __future__ import annotations

from typing import Any

from spark_analysis.report import words
from spark_analysis.statistics.verdict_words import NOT_ENOUGH

_EARLY = ("min.insync.replicas", "-2")
# The highest of these that the samples carry.
_QUANTILES = (990, 900, 500)


def headline(parts: list[dict[str, Any]]) -> list[str]:
    """One sentence a benchmark, then one on lost records; for outages only the latter."""
    sentences = [sentence for part in parts if part["bench"] for sentence in _beside(part)]
    return [*sentences, *_lost(parts, bool(sentences))]


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
    during = " during the fault" if broken == "fault" else ""
    known = row["low"] is not None
    span = f"[{words.number(row['low'])} to {words.number(row['high'])}], {row['verdict']}" if known else NOT_ENOUGH
    guarantee = _guarantee(data, new, old)
    return [
        f"{part['name']}: {new['label']} answers in {words.number(row['estimate'])} of {old['label']}'s "
        f"{words.percentile(deepest)}{during}{guarantee}, {span}."
    ]


def _guarantee(data: dict[str, Any], new: dict[str, Any], old: dict[str, Any]) -> str:
    """The guarantee, where both modes require the same span of racks; else empty."""
    racks = [
        int({**data["workload"]["topic"]["settings"], **m["topic"]}.get("min.insync.racks", 1)) for m in (new, old)
    ]
    same = racks[0] == racks[1] > 1 and new["acks"] in (*_EARLY, "all") and old["acks"] == "all"
    return f" with the same guarantee ({racks[0]} racks)" if same else ""


def _knee(name: str, data: dict[str, Any], new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    found = data["ratios"].get("candidate")
    if found is None:
        return []
    known = found["low"] is not None
    span = f"[{words.number(found['low'])} to {words.number(found['high'])}]" if known else NOT_ENOUGH
    return [f"{name}: {new['label']} reaches {words.number(found['estimate'])} of {old['label']}'s throughput, {span}."]


def _lost(parts: list[dict[str, Any]], compared: bool) -> list[str]:
    """Lost records of topics that were read to their end, by the acks of their producers."""
    checked: dict[str, list[int]] = {}
    for part in parts:
        for row in part["outage"]["durability"]["producers"] if part["outage"] else []:
            totals = checked.setdefault(row["acks"], [0, 0])
            totals[0] += row["lost"]
            totals[1] += row["acknowledged"]
    losses = [
        f"acks={acks} lost {'no record' if not lost else words.records(lost)} of {words.count(acked)} acknowledged"
        for acks, (lost, acked) in sorted(checked.items())
    ]
    if not losses:
        return ["Whether records were lost was not checked in these runs."] if compared else []
    return [f"{'; '.join(losses)}."]
