"""The blocks of a benchmark: which count, which are invalid and why, and how many of them each mode has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_analysis.report.benchmark.rounds import Variant
from spark_analysis.statistics.selection import Selected, not_selected
from spark_analysis.statistics.verdict_words import NOT_SHOWN

QUIET, FAULT = "quiet", "fault"
# A send lag that grows by this share of its limit within a block will exceed it: the load client is saturated.
FALLING_BEHIND = 0.3
# A block that lacks more than this share of the records that its rate makes due was not recorded in full; where gaps
# are drawn at random, more than so many standard deviations of their number.
SHORT, DEVIATIONS = 0.05, 5
_SHOWN = (
    *("block", "pair", "mode", "role", "part", "cpu_busy", "cpu_own", "steal", "isr", "rtt_off", "stalls"),
    *("brokers_cpu_s", "acked"),
)


def evaluate_blocks(
    found: list[dict[str, Any]], lags: list[dict[str, Any]], due: Mapping[tuple[int, str], int], spec: dict[str, Any]
) -> list[dict[str, Any]]:
    """Every part of a block with the reasons that make it invalid, none for a valid one, and ``saturated``: how the
    mode saturated the machine by itself, empty where it did not. ``due`` has the records on file of each part of a
    block, whatever became of them.
    """
    lag = {(r["block"], r["part"]): r for r in lags}
    out = []
    for b in found:
        observed = lag.get((b["block"], b["part"]), {"records": 0})
        row = {k: b[k] for k in _SHOWN} | {k: observed.get(k) for k in ("records", "lag_p99_us", "lag_grew_us")}
        row |= {"seconds": (b["end_mono_ns"] - b["begin_mono_ns"]) / 1e9, "saturated": b["saturated"] or ""}
        row["invalid"] = _invalid(row, b["invalid"], spec, due.get((b["block"], b["part"]), 0))
        # What comes from outside makes a block invalid, whatever the mode did to the machine as well.
        out.append({**row, "saturated": "" if row["invalid"] else row["saturated"]})
    return out


def _invalid(row: dict[str, Any], recorded: list[str] | None, spec: dict[str, Any], due: int) -> list[str]:
    """Reasons recorded by the run about its machine, and reasons from the records of the load client."""
    reasons = [] if recorded is not None else ["the run does not say whether the machine was fit for it"]
    if not row["records"]:
        reasons.append("no record was sent")
    elif not spec.get("ramp") and not row["saturated"]:  # a ramp looks for the rate that its load client cannot send
        reasons += _late(row, spec["limits"]["send_lag_p99_ms"]) + _short(due, row["seconds"], spec["load"])
    return reasons + (recorded or [])


def _late(row: dict[str, Any], limit_ms: float) -> list[str]:
    """The reason why the latencies may be those of the load client; none if it was on time."""
    if row["lag_p99_us"] / 1000 > limit_ms:
        return [f"the load client was late: send lag p99 {row['lag_p99_us'] / 1000:.1f} ms"]
    if row["lag_grew_us"] is not None and row["lag_grew_us"] / 1000 > limit_ms * FALLING_BEHIND:
        return [f"the load client fell behind: its send lag grew by {row['lag_grew_us'] / 1000:.1f} ms"]
    return []


def _short(due: int, seconds: float, load: Mapping[str, Any]) -> list[str]:
    """The reason why the latencies may be those of a part of the records: others that were due are not on file."""
    if load.get("unanswered_kib"):  # a closed loop goes as fast as it gets
        return []
    about = load["rate"] * seconds
    margin = DEVIATIONS * math.sqrt(about) if load.get("arrivals") == "poisson" else 1 + SHORT * about
    return [f"{due:,} of about {about:,.0f} records are on file"] if due < about - margin else []


def selected(found: Sequence[Mapping[str, Any]], modes: Sequence[Mapping[str, Any]]) -> dict[Variant, Selected]:
    """Of each mode and part the blocks that ran, and those that do not count as measured. A round of the run in which
    the mode has no block counts as one that ran and is invalid.
    """
    rounds = {b["pair"] for b in found}
    of_every_mode = [b["part"] for b in found if b["part"] in (QUIET, FAULT)]  # steps of rates differ from mode to mode
    out = {}
    for mode in modes:
        mine = [b for b in found if b["role"] == mode["role"]]
        for part in dict.fromkeys([*of_every_mode, *(b["part"] for b in mine)]):
            blocks = [b for b in mine if b["part"] == part]
            missing = len(rounds - {b["pair"] for b in (blocks if part == FAULT else mine)})
            label = mode["label"] + (" during the fault" if part == FAULT else "")
            itself = frozenset(b["pair"] for b in blocks if b["saturated"])
            invalid = sum(bool(b["invalid"]) for b in blocks) + missing
            out[mode["role"], part] = Selected(label, len(blocks) + missing, invalid, itself, missing)
    return out


def of_all_parts(selection: Mapping[Variant, Selected], role: str) -> Selected | None:
    """The same of a mode, its parts taken together; None without any."""
    mine = [of for (name, _), of in selection.items() if name == role]
    if not mine:
        return None
    label = mine[0].label.removesuffix(" during the fault")
    saturated = frozenset[int]().union(*(of.saturated for of in mine))
    ran, invalid, missing = (sum(getattr(of, name) for of in mine) for name in ("ran", "invalid", "missing"))
    return Selected(label, ran, invalid, saturated, missing)


def not_shown_of_all_parts(selection: Mapping[Variant, Selected], off_plan: str, *roles: str) -> str:
    """The verdict where modes cannot be compared, all parts of their blocks taken together; empty if they can."""
    reason = not_selected(*(of for role in roles if (of := of_all_parts(selection, role)) is not None))
    return off_plan or (f"{NOT_SHOWN}{reason}" if reason else "")


def counted(selection: Mapping[Variant, Selected]) -> list[dict[str, Any]]:
    """The same as rows for the document."""
    return [
        {"role": role, "part": part, "mode": of.label, "ran": of.ran, "invalid": of.invalid}
        | {"saturated": len(of.saturated), "missing": of.missing}
        for (role, part), of in selection.items()
    ]


def slowest(table: pa.Table, found: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pa.Table:
    """Counts in which each value of a block that saturated the machine is infinite: no result is slower."""
    places = [f"{b['block']} {b['part']}" for b in found if b["saturated"]]
    if not places:
        return table
    place = pc.binary_join_element_wise(table["block"].cast(pa.string()), table["part"], " ")
    is_slowest = pc.is_in(place, pa.array(places, pa.string()))
    for name in columns:
        values = pc.if_else(is_slowest, pa.scalar(math.inf, pa.float64()), table[name].cast(pa.float64()))
        table = table.set_column(table.column_names.index(name), name, values)
    return table
