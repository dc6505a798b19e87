"""The outage part of the document: records acknowledged, refused and lost, over time."""

from __future__ import annotations

from typing import Any

from spark_analysis.report import timeline
from spark_analysis.report.outage_raw import OutageRaw
from spark_analysis.report.section import Section, summed


def section(raw: OutageRaw) -> Section:
    """Timeline, segments, outcomes, silences and durability of one run."""
    origin = raw.period.origin_ns
    fates = summed(raw.fates, "records", "run", "bucket", "outcome", "cause")
    outcomes = summed(raw.fates, "records", "run", "producer", "outcome", "cause")
    data = {
        "seconds": timeline.seconds(raw.period.end_ns, origin),
        "bucket_s": raw.period.bucket_s,
        "windows": raw.period.line.windows,
        "segments": _segments(raw),
        "outcomes": sorted(outcomes.to_pylist(), key=lambda row: (row["producer"], -row["records"])),
        "predicted_losses": _predicted(raw.events),
        "silences": [_silence(row, origin) for row in raw.silences],
        "durability": {**raw.durability, "without_acks": _without_acks(raw)},
        "series": {
            "fates": fates.drop_columns("run").to_pylist(),
            "latency": raw.over_time.drop_columns("run").to_pylist(),
            "span": [{"at_s": float(r["second"]), "least": r["least"], "most": r["most"]} for r in raw.racks],
        },
    }
    return Section(data, {"fates": fates, "latency_over_time": raw.over_time, "outcomes": outcomes})


def _without_acks(raw: OutageRaw) -> list[str]:
    """Producers that the run noted, and of which it has no record of any send: their file is missing."""
    noted = {e["data"]["producer"] for e in raw.events if (e["kind"], e["name"]) == ("note", "producer")}
    return sorted(noted - set(raw.fates["producer"].to_pylist()))


def _predicted(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The matrix of racks lost against topics that the run noted before its faults: `topics`, and `losses` with a cell
    a topic; or `unknown`, a text. All are empty for a run without that note.
    """
    noted = next((e["data"] for e in events if e["name"] == "predicted-losses"), None)
    if noted is None or "unknown" in noted:
        return {"topics": [], "losses": [], "unknown": noted["unknown"] if noted else ""}
    topics = sorted({name for loss in noted["losses"] for name in loss["topics"]})
    rows = [
        {"racks": loss["racks"], "cells": [loss["topics"].get(name) for name in topics]} for loss in noted["losses"]
    ]
    return {"topics": topics, "losses": rows, "unknown": ""}


def _silence(row: dict[str, Any], origin: int) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("run", "producer")},
        "silence_s": round(row["silence_ns"] / 1e9, 3),
        "from_s": timeline.seconds(row["from_ns"], origin),
        "to_s": timeline.seconds(row["to_ns"], origin),
    }


def _segments(raw: OutageRaw) -> list[dict[str, Any]]:
    """Answers between every two marks, and the time from the mark to the first of each kind."""
    line, origin, answers = raw.period.line, raw.period.origin_ns, raw.answers
    starts = [int(m["t_ns"]) for m in line.marks]
    untils = [*starts[1:], raw.period.end_ns + 1]
    out = []
    for i, mark in enumerate(line.marks):
        here = [row for row in answers if row["mark"] == i]
        good = [r for r in here if r["acknowledged"]]
        bad = [r for r in here if not r["acknowledged"]]
        # A change may take effect only after the next mark.
        later = [r for r in answers if r["acknowledged"] and r["mark"] >= i]

        def after(times: list[int], start: int = starts[i]) -> float | None:
            return timeline.seconds(times[0], start) if times else None

        event = mark["event"]
        out.append(
            {
                "label": mark["label"],
                "kind": mark["kind"],
                "data": event["data"] if event else {},
                "at_s": timeline.seconds(starts[i], origin),
                "until_s": timeline.seconds(untils[i], origin),
                "acknowledged": sum(r["records"] for r in good),
                "refused": sum(r["records"] for r in bad),
                "refusals": [
                    {"name": r["name"], "records": r["records"], "first_after_s": after([r["first_ns"]])}
                    for r in sorted(bad, key=lambda r: (-r["records"], r["name"]))
                ],
                "first_refusal_after_s": after(sorted(r["first_ns"] for r in bad)),
                "first_ack_after_s": after(sorted(r["first_ns"] for r in later)),
                "last_ack_after_s": after(sorted((r["last_ns"] for r in good), reverse=True)),
            }
        )
    return out
