"""Pictures of a benchmark: latency by percentile, latency saved, every block, and a fault over time."""

from __future__ import annotations

import math
from typing import Any

from matplotlib import pyplot as plt

from spark_analysis.report.charts import SECOND, SHADE, STYLE, log_ms, mode_colour, svg
from spark_analysis.statistics.counts import is_answered

_TICKS = (0, 500, 750, 900, 950, 990, 995, 999, 999.5, 999.9)


def pictures(data: dict[str, Any], name: str) -> dict[str, str]:
    """Pictures by name; one for which the run has no data is skipped."""
    found = {"nines": _nines(data, name), "shift": _shift(data, name), "blocks": _blocks(data, name)}
    if data["fault"] and data["fault"]["timeline"]:
        found["fault"] = _fault(data, name)
    return {key: picture for key, picture in found.items() if picture}


def _x(per_thousand: float) -> float:
    return -math.log10(1 - per_thousand / 1000)


def _percentile_axis(axis: Any, deepest: float) -> None:
    ticks = [q for q in _TICKS if q <= deepest]
    axis.set_xticks([_x(q) for q in ticks], [f"p{q / 10:g}" for q in ticks])
    axis.set_xlabel("percentile (log scale)")


def _legend(axis: Any, low: float = -0.18) -> None:
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, low), ncols=2)


def _nines(data: dict[str, Any], name: str) -> str:
    """One line per mode, up to the last percentile that its sample carries; dashed during a fault."""
    with plt.rc_context({**STYLE, "svg.hashsalt": name + "nines"}):
        figure, axis = plt.subplots(figsize=(10, 3.8))
        deepest = 500.0
        for mode in data["modes"]:
            for part, style in (("quiet", "-"), ("fault", "--")):
                rows = [r for r in data["curve"] if (r["role"], r["part"]) == (mode["role"], part)]
                if not rows:
                    continue
                deepest = max(deepest, rows[-1]["per_thousand"])
                during = ", fault" if part == "fault" else ""
                axis.plot(
                    [_x(r["per_thousand"]) for r in rows],
                    [r["value_us"] / 1000 for r in rows],
                    color=mode_colour(data, mode["role"]),
                    linestyle=style,
                    linewidth=2,
                    label=f"{mode['label']}{during} (n = {rows[0]['n']:,})",
                )
        if not axis.lines:
            plt.close(figure)
            return ""
        _percentile_axis(axis, deepest)
        log_ms(axis)
        _legend(axis)
        return svg(figure, f"Latency by percentile of {name}")


def _shift(data: dict[str, Any], name: str) -> str:
    """Latency saved against the baseline by each other mode, by percentile, before any fault; the band is its
    interval, where there are enough rounds for one.
    """
    curve = {(r["role"], r["per_thousand"]): r["value_us"] for r in data["curve"] if r["part"] == "quiet"}
    with plt.rc_context({**STYLE, "svg.hashsalt": name + "shift"}):
        figure, axis = plt.subplots(figsize=(10, 3.0))
        deepest = 0.0
        for mode in data["modes"]:
            both = [q for (role, q) in curve if role == mode["role"] and ("baseline", q) in curve]
            if mode["role"] == "baseline" or not both:
                continue
            deepest, colour = max(deepest, *both), mode_colour(data, mode["role"])
            saved = [(curve["baseline", q] - curve[mode["role"], q]) / 1000 for q in both]
            axis.plot([_x(q) for q in both], saved, color=colour, linewidth=2, label=mode["label"])
            sure = [r for r in data["shift"] if (r["role"], r["part"]) == (mode["role"], "quiet")]
            sure = [r for r in sure if is_answered(r["low_us"]) and is_answered(r["high_us"])]
            if sure:
                low, high = ([-r[end] / 1000 for r in sure] for end in ("low_us", "high_us"))
                axis.fill_between([_x(r["per_thousand"]) for r in sure], low, high, color=colour, alpha=0.25, lw=0)
        if not deepest:
            plt.close(figure)
            return ""
        axis.axhline(0, color=SECOND, linewidth=1.2)
        axis.set_ylabel("ms saved")
        _percentile_axis(axis, deepest)
        _legend(axis, -0.22)
        return svg(figure, f"Latency saved against acks=all by percentile of {name}")


def _blocks(data: dict[str, Any], name: str) -> str:
    """Median of every valid block in the order in which they ran: shows the machine's drift."""
    invalid = {(b["block"], b["part"]) for b in data["invalid"]}
    with plt.rc_context({**STYLE, "svg.hashsalt": name + "blocks"}):
        figure, axis = plt.subplots(figsize=(10, 2.8))
        for mode in data["modes"]:
            rows = [
                r
                for r in data["per_block"]
                if (r["role"], r["part"], r["per_thousand"]) == (mode["role"], "quiet", 500)
                and is_answered(r["value_us"])
                and (r["block"], "quiet") not in invalid
            ]
            if rows:
                axis.plot(
                    [r["block"] for r in rows],
                    [r["value_us"] / 1000 for r in rows],
                    linestyle="none",
                    marker="o",
                    markersize=6,
                    color=mode_colour(data, mode["role"]),
                    label=mode["label"],
                )
        if not axis.lines:
            plt.close(figure)
            return ""
        axis.set_xlabel("block, in the order in which they ran")
        log_ms(axis)
        _legend(axis, -0.22)
        return svg(figure, f"Median latency of every block of {name}")


def _fault(data: dict[str, Any], name: str) -> str:
    """One round: median (line) and maximum (points) of the latency by the time records were due, the fault shaded."""
    line = data["fault"]["timeline"]
    with plt.rc_context({**STYLE, "svg.hashsalt": name + "fault"}):
        figure, axis = plt.subplots(figsize=(10, 3.6))
        axis.axvspan(0, line["fault_s"], color=SHADE, linewidth=0, zorder=0)
        for mode in data["modes"]:
            rows = [r for r in line["points"] if r["role"] == mode["role"]]
            x = [r["bucket"] * line["bucket_s"] for r in rows]
            colour = mode_colour(data, mode["role"])
            axis.plot(x, [r["p50_us"] / 1000 for r in rows], color=colour, linewidth=2, label=mode["label"])
            axis.plot(x, [r["max_us"] / 1000 for r in rows], color=colour, linestyle="none", marker=".", markersize=3)
        axis.set_xlabel("seconds since the fault began, by the time records were due")
        log_ms(axis)
        _legend(axis)
        return svg(figure, f"Latency around the fault, one round of {name}")
