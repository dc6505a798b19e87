"""The first screen of the page: what was lost, what each mode promises and costs, and ratios with their limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_analysis.report import words
from spark_analysis.report.promises import RACKS, STOCK, survives
from spark_analysis.report.read_back import unchecked
from spark_analysis.statistics.verdict_words import BEYOND, FLOOR_MET, GOAL_MET, IMPROVED, REGRESSED

LOST, KEPT, UNKNOWN = "lost", "kept", "not checked"
# Beside a colour, so that neither is needed to read the other.
MARKS = {LOST: "✗", KEPT: "✓", UNKNOWN: "?"}
_MARK_OF = {GOAL_MET: "✓", FLOOR_MET: "✓", IMPROVED: "✓", BEYOND: "✗", REGRESSED: "✗"}
_QUANTILES = (500, 990)
_LIMITS = ("goal", "floor")


def mark(verdict: str) -> str:
    """A tick or a cross for a verdict; a question mark for one that was not shown."""
    return _MARK_OF.get(verdict, "?")


def verdict(parts: Sequence[dict[str, Any]], skipped: int = 0) -> dict[str, str]:
    """The state and the sentence on lost records of all runs: lost in any, kept where all that are to be read back
    were, or not checked. Benchmarks read nothing back: beside one the sentence names the runs that did. ``skipped``
    is the number of folders that could not be read.
    """
    outages = [part["outage"]["durability"] for part in parts if part["outage"]]
    benches = [row for part in parts if part["bench"] for row in part["bench"]["success"]]
    if any(data["totals"]["lost"] for data in outages) or any(row["lost"] for row in benches):
        return _verdict(LOST, f"LOST: {'; '.join(line for line in map(_lost, parts) if line)}.")
    acknowledged = sum(data["totals"]["acknowledged"] for data in outages)
    kept = f"each of {words.count(acknowledged)} acknowledged records was read back"
    if not acknowledged and any(data["state"] != "not checked" for data in outages):
        return _verdict(
            UNKNOWN, "Whether records were lost is not known: where they were read back, none was acknowledged."
        )
    if not acknowledged:
        return _verdict(UNKNOWN, "Whether records were lost was not checked: none were read back.")
    gaps = [gap for part in parts if part["outage"] for gap in unchecked(part)]
    gaps += [f"{skipped} folder{'' if skipped == 1 else 's'} skipped"] if skipped else []
    measured = ", ".join(part["name"] for part in parts if not part["outage"])
    if not gaps and measured:
        checked = ", ".join(part["name"] for part in parts if part["outage"])
        return _verdict(KEPT, f"Nothing was lost in {checked}: {kept}. Benchmarks read nothing back: {measured}.")
    if not gaps:
        return _verdict(KEPT, f"Nothing was lost: {kept}.")
    others = "; ".join(gaps)
    return _verdict(UNKNOWN, f"Whether records were lost was checked in part: {kept}. Not checked: {others}.")


def _verdict(state: str, text: str) -> dict[str, str]:
    return {"state": state, "mark": MARKS[state], "text": text}


def _lost(part: dict[str, Any]) -> str:
    """Losses of a run, by the acks of its producers or by mode; empty for nothing."""
    found: dict[str, list[int]] = {}
    for label, lost, acknowledged in _kept_by(part):
        total = found.setdefault(label, [0, 0])
        total[0] += lost
        total[1] += acknowledged
    return ", ".join(
        f"{words.records(lost)} of {words.count(acknowledged)} acknowledged with {label} in {part['name']}"
        for label, (lost, acknowledged) in found.items()
        if lost
    )


def _kept_by(part: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Label, lost and acknowledged records of each producer or mode of a run."""
    if part["outage"]:
        producers = part["outage"]["durability"]["producers"]
        return [(f"acks={row['acks']}", row["lost"], row["acknowledged"]) for row in producers]
    return [(row["mode"], row["lost"], row["answered"]) for row in part["bench"]["success"]] if part["bench"] else []


def modes(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each mode of each benchmark, or for each part where it has a fault: what a record survives after its
    acknowledgement, the acknowledged share, median and 99th percentile.
    """
    return [row for part in parts if part["bench"] for row in _modes(part["name"], part["bench"])]


def _modes(name: str, data: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for mode in data["modes"]:
        settings = {**data["workload"]["topic"]["settings"], **mode["topic"]}
        if mode.get("distribution") == STOCK:
            settings.pop(RACKS, None)
        for succeeded in (row for row in data["success"] if row["role"] == mode["role"]):
            key = (mode["role"], succeeded["part"])
            mine = {r["per_thousand"]: r for r in data["pooled"] if (r["role"], r["part"]) == key}
            rows.append(
                {"run": name, "mode": mode["label"], "part": succeeded["part"]}
                | {
                    "survives": survives(mode["acks"], settings, mode.get("level")),
                    "acknowledged": succeeded["percent"],
                }
                | {"latencies": [words.latency(mine[q]) if q in mine else "-" for q in _QUANTILES]}
            )
    return rows


def ratios(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the plot of ratios: of each benchmark its goals that are ratios, or without any the candidate's median
    and 99th percentile.
    """
    return [row for part in parts if part["bench"] for row in _ratios(part["name"], part["bench"])]


def _ratios(name: str, data: dict[str, Any]) -> list[dict[str, Any]]:
    label = {m["role"]: m["label"] for m in data["modes"]}
    goals = [row for row in data["goals"] if row["unit"] == "ratio" and row["estimate"] is not None]
    rows = [
        {"what": row["what"].replace("candidate", label["candidate"]), **{n: row[n] for n in _LIMITS}, **_of(row)}
        for row in goals
    ]
    if not rows:
        rows = [
            {"what": _what(row, label), **dict.fromkeys(_LIMITS), **_of(row)}
            for row in data["ratios"]
            if row["role"] == "candidate" and row["per_thousand"] in _QUANTILES and row["estimate"] is not None
        ]
    return [{"run": name, **row} for row in rows]


def _what(row: dict[str, Any], label: dict[str, str]) -> str:
    measure = words.percentile(row["per_thousand"]) + words.during(row["part"])
    return f"{measure}, {label['candidate']} / {label['baseline']}"


def _of(row: dict[str, Any]) -> dict[str, Any]:
    known = {name: row[name] for name in ("estimate", "low", "high", "noise", "verdict")}
    return {**known, "mark": mark(row["verdict"])}
