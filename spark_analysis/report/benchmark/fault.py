"""The time of a fault: the longest latency and the longest silence of every part, and one round of it over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from spark_analysis.report.benchmark.blocks import FAULT
from spark_analysis.report.benchmark.raw import AROUND_BUCKET_NS, Raw
from spark_analysis.report.benchmark.rounds import Rounds, per_round


def fault(raw: Raw, acked: pa.Table, measured: Rounds, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Longest latency, infinite with a record that had no answer, and longest silence of every valid part, their
    ratios, and one round of it over time.
    """
    longest = acked.group_by(["block", "part"]).aggregate([("max_us", "max")]).to_pylist()
    max_us = {(r["block"], r["part"]): r["max_us_max"] for r in longest}
    valid = {(b["block"], b["part"]) for b in found if not b["invalid"]}
    parts = sorted((p for p in raw.silences if (p["block"], p["part"]) in valid), key=lambda p: p["part"], reverse=True)
    parts = [{**p, "max_us": max_us.get((p["block"], p["part"]))} for p in sorted(parts, key=lambda p: p["block"])]
    itself = {(b["block"], b["part"]) for b in found if b["saturated"]}
    parts = [{**p, "saturated": (p["block"], p["part"]) in itself} for p in parts]
    parts = [{**p, "silence_s": math.inf} if p["saturated"] else p for p in parts]
    new, old, again = ("candidate", FAULT), ("baseline", FAULT), ("control", FAULT)
    equal = measured.not_shown(new, old), measured.not_shown(again, old)
    return {
        "parts": parts,
        "max_ratio": per_round(parts, new, old, _max_us, equal[0]),
        "max_again": per_round(parts, again, old, _max_us, equal[1]),
        "silence_ratio": per_round(parts, new, old, _silence_s, equal[0]),
        "silence_again": per_round(parts, again, old, _silence_s, equal[1]),
        "timeline": _timeline(raw, [b for b in raw.blocks if (b["block"], b["part"]) in valid]),
    }


def _max_us(part: dict[str, Any]) -> float:
    return float(part["max_us"])


def _silence_s(part: dict[str, Any]) -> float:
    return float(part["silence_s"])


def _timeline(raw: Raw, valid: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The first round in which every mode's fault counts: latency from shortly before it to shortly after."""
    faults, modes = [b for b in valid if b["part"] == FAULT], raw.manifest["spec"]["workload"]["modes"]
    full = [r for r in sorted({b["pair"] for b in faults}) if sum(b["pair"] == r for b in faults) == len(modes)]
    if not full:
        return None
    chosen = [b for b in faults if b["pair"] == full[0]]
    return {
        "round": full[0],
        "bucket_s": AROUND_BUCKET_NS / 1e9,
        "fault_s": max((b["end_mono_ns"] - b["begin_mono_ns"]) / 1e9 for b in chosen),
        "points": [{k: v for k, v in r.items() if k != "pair"} for r in raw.around if r["pair"] == full[0]],
    }
