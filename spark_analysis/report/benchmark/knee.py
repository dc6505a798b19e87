"""Throughput at the knee: the steps of rate that each mode went through, and its highest throughput."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from spark_analysis.report.benchmark.blocks import not_shown_of_all_parts
from spark_analysis.report.benchmark.rounds import Variant, divided, noise_of, per_round
from spark_analysis.statistics import stats
from spark_analysis.statistics.selection import Selected

RAMP = "ramp"


def steps(events: Sequence[dict[str, Any]], invalid: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Valid steps in the order in which they ran: role, mode, pair, rate and results."""
    skipped = {(b["block"], b["part"]) for b in invalid}
    ended = [e["data"] for e in events if (e["kind"], e["name"], e["state"]) == ("phase", "block", "end")]
    kept = ("block", "part", "pair", "mode", "role", "rate", "acked_per_s", "p99_us", "lag_p99_us", "beyond")
    return [
        {name: data.get(name) for name in kept}
        for data in ended
        if "rate" in data and (data["block"], data["part"]) not in skipped
    ]


def knee(
    modes: Sequence[dict[str, Any]],
    found: Sequence[dict[str, Any]],
    selection: Mapping[Variant, Selected],
    off_plan: str,
) -> dict[str, Any]:
    """Per mode and rate the medians over rounds; per mode its capacity: the most answers a second of any step, and the
    highest rate that was sustained, each the median over rounds; and the ratios of the former by round.
    """
    most = _most(found)

    def not_shown(*roles: str) -> str:
        return not_shown_of_all_parts(selection, off_plan, *roles)

    ratios = {
        role: per_round(most, (role, RAMP), ("baseline", RAMP), _per_s, not_shown(role, "baseline"))
        for role in (m["role"] for m in modes)
        if role != "baseline"
    }
    noise = {role: 1.0 if role == "control" else noise_of(ratios.get("control")) for role in ratios}
    return {
        "steps": [row for mode in modes for row in _table(mode, [s for s in found if s["role"] == mode["role"]])],
        "capacity": [
            {
                "mode": mode["label"],
                "role": mode["role"],
                "per_s": median(r["per_s"] for r in mine),
                "knee_rate": median(r["knee_rate"] for r in mine),
                "rounds": len(mine),
                "ended": sum(r["ended"] for r in mine),
            }
            for mode in modes
            if (mine := [r for r in most if r["role"] == mode["role"]])
        ],
        "ratios": {role: found and _with_verdict(found, noise[role]) for role, found in ratios.items()},
        # The other way: the patched brokers over the unpatched ones.
        "over_stock": per_round(most, ("baseline", RAMP), ("stock", RAMP), _per_s, not_shown("baseline", "stock")),
        "stock_again": per_round(
            most, ("stock-control", RAMP), ("stock", RAMP), _per_s, not_shown("stock-control", "stock")
        ),
    }


def _with_verdict(row: dict[str, Any], noise: float | None) -> dict[str, Any]:
    """The row with its noise and its verdict: that of the inverse, since more answers are better, as less time is."""
    low, high = (None if row[end] is None else divided(1.0, row[end]) for end in ("high", "low"))
    return {**row, "noise": noise, "verdict": row["not_shown"] or stats.verdict(low, high, noise)}


def _per_s(row: dict[str, Any]) -> float:
    return float(row["per_s"])


def _most(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    rounds: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for step in found:
        rounds.setdefault((step["role"], step["pair"]), []).append(step)
    return [
        {
            "role": role,
            "pair": pair,
            "part": RAMP,
            "per_s": max(s["acked_per_s"] for s in mine),
            "knee_rate": max((s["rate"] for s in mine if not s["beyond"]), default=0.0),
            "ended": any(s["beyond"] for s in mine),
        }
        for (role, pair), mine in rounds.items()
    ]


def _table(mode: dict[str, Any], found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    out = []
    for rate in sorted({s["rate"] for s in found}):
        mine = [s for s in found if s["rate"] == rate]
        beyond = [s["beyond"] for s in mine if s["beyond"]]
        place = {"mode": mode["label"], "role": mode["role"], "rate": rate, "rounds": len(mine)}
        middles = {name: _median([s[name] for s in mine]) for name in ("acked_per_s", "p99_us", "lag_p99_us")}
        out.append({**place, **middles, "beyond": len(beyond), "why": beyond[0] if beyond else ""})
    return out


def _median(values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return median(known) if known else None
