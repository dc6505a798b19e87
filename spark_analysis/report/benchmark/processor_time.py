"""Processor time of the brokers per acknowledged record: what a mode costs them, whatever else runs (P0)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from spark_analysis.report.benchmark.blocks import FAULT
from spark_analysis.report.benchmark.rounds import noise_of, per_round
from spark_analysis.statistics import stats

_COST = "cost"


def processor_time(
    modes: Sequence[Mapping[str, Any]], blocks: Sequence[Mapping[str, Any]], not_shown: Callable[[str, str], str]
) -> dict[str, Any] | None:
    """Per mode the seconds per million acknowledged records, the median over rounds, and their ratio to the baseline;
    the ratios of the baseline to stock, and of stock to itself. Of each round that part counts, of those without a
    fault, in which most was acknowledged: of a ramp that is full speed. None where a valid block does not have it.
    ``not_shown`` is the verdict where two roles cannot be compared, else empty.
    """
    valid = [b for b in blocks if not b["invalid"] and b["part"] != FAULT]
    if not valid or any(b["brokers_cpu_s"] is None or b["acked"] is None for b in valid):
        return None
    rows = _of_rounds(valid)

    def ratio(above: str, below: str) -> dict[str, Any] | None:
        return per_round(rows, (above, _COST), (below, _COST), _seconds, not_shown(above, below))

    again = ratio("control", "baseline")
    found = []
    for mode in modes:
        mine = [r["seconds"] for r in rows if r["role"] == mode["role"]]
        if mine:
            row = {"mode": mode["label"], "role": mode["role"], "seconds": median(mine), "rounds": len(mine)}
            beside = None if mode["role"] == "baseline" else ratio(mode["role"], "baseline")
            noise = 1.0 if mode["role"] == "control" else noise_of(again)
            found.append({**row, "ratio": beside and _with_verdict(beside, noise)})
    return {
        "modes": found,
        "again": again,
        "over_stock": ratio("baseline", "stock"),
        "stock_again": ratio("stock-control", "stock"),
    }


def _of_rounds(valid: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of each mode and round the seconds per million records of the part with most of them, infinite without any."""
    most: dict[tuple[str, int], Mapping[str, Any]] = {}
    for block in valid:
        key = block["role"], block["pair"]
        if key not in most or block["acked"] > most[key]["acked"]:
            most[key] = block
    return [
        {"role": role, "pair": pair, "part": _COST, "seconds": _per_million(block)}
        for (role, pair), block in most.items()
    ]


def _per_million(block: Mapping[str, Any]) -> float:
    return float(block["brokers_cpu_s"] / block["acked"] * 1e6) if block["acked"] else math.inf


def _seconds(row: Mapping[str, Any]) -> float:
    return float(row["seconds"])


def _with_verdict(row: dict[str, Any], noise: float | None) -> dict[str, Any]:
    return {**row, "noise": noise, "verdict": row["not_shown"] or stats.verdict(row["low"], row["high"], noise)}
