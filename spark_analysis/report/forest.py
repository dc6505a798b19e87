"""The plot of ratios: estimate, interval, noise, goal and floor of each, on one logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.ticker import NullLocator

from spark_analysis.report import words
from spark_analysis.report.charts import GOOD, SECOND, SERIES, SHADE, STYLE, svg

_BAD, _OPEN = SERIES[2], SERIES[7]
_COLOURS = {"✓": GOOD, "✗": _BAD}
_SHAPES = {"✓": "o", "✗": "X"}
_WIDEST = 125  # characters of a row's text


def forest(rows: Sequence[dict[str, Any]], name: str) -> str:
    """The SVG text; empty without a finite ratio. Rows are those of first_screen.ratios."""
    drawn = [row for row in rows if math.isfinite(row["estimate"]) and row["estimate"] > 0]
    if not drawn:
        return ""
    with plt.rc_context({**STYLE, "svg.hashsalt": name}):
        figure, axis = plt.subplots(figsize=(10, 0.9 + 0.62 * len(drawn)))
        low, high = _limits(drawn)
        for at, row in enumerate(reversed(drawn)):
            _row(axis, at, row, low, high)
        axis.axvline(1, color=SECOND, linewidth=1.2)
        axis.set_xscale("log")
        axis.set_xlim(low, high)
        axis.set_ylim(-0.6, len(drawn) - 0.1)
        axis.set_yticks([])
        axis.spines["left"].set_visible(False)
        ticks = [t for t in (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 100) if low <= t <= high]
        axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xlabel("ratio (log scale); below 1: earlier or shorter than what it is compared with")
        return svg(figure, f"Ratios of {name}: " + "; ".join(map(_text, drawn)))


def _row(axis: Any, at: int, row: dict[str, Any], low: float, high: float) -> None:
    colour, noise = _COLOURS.get(row["mark"], _OPEN), row["noise"]
    if noise is not None:
        axis.fill_betweenx([at - 0.22, at + 0.12], max(low, 1 / noise), min(high, noise), color=SHADE, linewidth=0)
    if row["low"] is not None:
        ends = [min(max(end, low), high) for end in (row["low"], row["high"])]
        axis.plot(ends, [at - 0.05] * 2, color=colour, linewidth=2.4, solid_capstyle="butt")
    axis.plot(row["estimate"], at - 0.05, marker=_SHAPES.get(row["mark"], "D"), color=colour, markersize=8)
    ink = STYLE["text.color"]
    for name, style in (("goal", "-"), ("floor", ":")):
        if row[name] is not None:
            axis.plot([row[name]] * 2, [at - 0.26, at + 0.16], color=ink, linestyle=style, linewidth=1.4)
    text = f"{row['mark']} {row['run']}: {_text(row)}"
    shown = text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
    axis.text(0, at + 0.2, shown, transform=axis.get_yaxis_transform(), fontsize=9, color=ink)


def _text(row: dict[str, Any]) -> str:
    span = f" ({words.span(row)})" if row["low"] is not None else ""
    return f"{row['what']}: {words.number(row['estimate'])}{span}, {row['verdict']}"


def _limits(rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Ends of the scale: all estimates and limits, and of intervals what is within a factor of 10 of these."""
    known = [1.0] + [row[name] for row in rows for name in ("estimate", "goal", "floor") if row[name]]
    low, high = min(known), max(known)
    ends = [row[name] for row in rows for name in ("low", "high") if row[name] and math.isfinite(row[name])]
    low, high = max(min([low, *ends]), low / 10), min(max([high, *ends]), high * 10)
    return low / 1.15, high * 1.15
