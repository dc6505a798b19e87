"""The headline: latency with acks=min.insync.replicas against acks=all, what each promises, and lost records."""

from __future__ import annotations

from typing import Any

from spark_analysis.report import words
from spark_analysis.statistics.verdict_words import NOT_ENOUGH

_EARLY = ("min.insync.replicas", "-2")
_REQUIRED = ("min.insync.replicas", "min.insync.racks")
# The highest of these that the samples carry.
_QUANTILES = (990, 900, 500)


def headline(parts: list[dict[str, Any]]) -> list[str]:
    """One sentence a benchmark, what the compared modes promise, lost records; for outages only the latter."""
    sentences = [sentence for part in parts if part["bench"] for sentence in _beside(part)]
    promises = dict.fromkeys(line for part in parts if part["bench"] for line in _promises(part["bench"]))
    return [*sentences, *(promises if sentences else ()), *_lost(parts, bool(sentences))]


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
    if row["not_shown"]:
        return [f"{part['name']}: {new['label']} and {old['label']} are not compared{during}, {row['not_shown']}."]
    known = row["low"] is not None
    span = f"[{words.number(row['low'])} to {words.number(row['high'])}], {row['verdict']}" if known else NOT_ENOUGH
    return [
        f"{part['name']}: {new['label']} answers in {words.number(row['estimate'])} of {old['label']}'s "
        f"{words.percentile(deepest)}{during}, {span}."
    ]


def _promises(data: dict[str, Any]) -> list[str]:
    """The promise of an acknowledgement in each of the compared modes (docs/reference/acks.md)."""
    modes = [m for m in data["modes"] if m["role"] in ("candidate", "baseline")]
    found = [_promise(m["acks"], {**data["workload"]["topic"]["settings"], **m["topic"]}) for m in modes]
    return [line for line in found if line]


def _promise(acks: str, settings: dict[str, Any]) -> str:
    required = ", ".join(f"{name}={settings[name]}" for name in _REQUIRED if name in settings)
    if not required:
        return ""
    if acks == "all" and settings.get("acks.all.scope") not in _EARLY:
        return f"acks=all ({required}): all in-sync replicas had the record; no move or crash of a leader loses it."
    if acks in (*_EARLY, "all"):
        how = f"acks={acks}" if acks in _EARLY else "acks=all, acks.all.scope=min.insync.replicas"
        return f"{how} ({required}): that many in-sync replicas had the record; a move to a leader that lags loses it."
    return ""


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
