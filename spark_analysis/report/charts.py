"""Pictures as inline SVG whose colours are CSS variables of the page, so that they follow its light or dark theme."""

from __future__ import annotations

import html
import io
import re
import statistics
import zlib
from collections.abc import Sequence
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator

# Stand-in colours, replaced by CSS variables in the SVG text.
INK, GRID, SHADE, MARK = "#010101", "#020202", "#030303", "#040404"
SERIES = [f"#0505{n:02x}" for n in range(10, 18)]
VARIABLES = {
    INK: "var(--ink)",
    GRID: "var(--grid)",
    SHADE: "var(--shade)",
    MARK: "var(--mark)",
    **{colour: f"var(--s{n})" for n, colour in enumerate(SERIES)},
}
_KINDS, _OTHER = 5, "other outcomes"
GOOD, SECOND = SERIES[0], SERIES[1]
_ROLES = {"candidate": GOOD, "baseline": SECOND, "least": SERIES[3], "control": SERIES[7], "stock": SERIES[4]}
STYLE: Any = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
}


def outage(data: dict[str, Any], name: str) -> str:
    """Panels over time: records by their outcome, latency of the acknowledged ones, racks in the in-sync set."""
    series, width = data["series"], data["bucket_s"]
    with plt.rc_context({**STYLE, "svg.hashsalt": name}):
        panels = 3 if series["span"] else 2
        heights = [3, 2.4, 1.1][:panels]
        figure, axes = plt.subplots(
            panels, 1, figsize=(10, 1.05 * sum(heights)), sharex=True, gridspec_kw={"height_ratios": heights}
        )
        _fates(axes[0], series["fates"], width)
        _latency(axes[1], series["latency"], width)
        if series["span"]:
            _span(axes[2], series["span"])
        for axis in axes:
            _marks(axis, data)
        _mark_labels(axes[0], data)
        axes[-1].set_xlabel("seconds since the start of the run")
        axes[-1].set_xlim(0, max(data["seconds"], width))
        return svg(figure, f"Outage of {name} over time: records by outcome, and latency")


def fate_names(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Outcomes in the order of drawing: acknowledged, then by number of records; the rarest are drawn as one."""
    totals: dict[str, int] = {}
    for row in rows:
        totals[_fate(row)] = totals.get(_fate(row), 0) + row["records"]
    names = sorted(totals, key=lambda n: (n != "OK", -totals[n], n))
    return names if len(names) <= _KINDS + 1 else [*names[:_KINDS], _OTHER]


def fate_colours(names: Sequence[str]) -> list[str]:
    """A colour for each of these outcomes: always the same one for acknowledged records, the last one for the rest."""
    others = iter(SERIES[2:])
    return [GOOD if name == "OK" else next(others, SERIES[-1]) for name in names]


def shown_fate(row: dict[str, Any], names: Sequence[str]) -> str:
    """The one of these outcomes that a row of records is drawn as."""
    return _fate(row) if _fate(row) in names else _OTHER


def mode_colour(data: dict[str, Any], role: str) -> str:
    """The colour of a benchmark's mode in all pictures."""
    others = [m["role"] for m in data["modes"] if m["role"] not in _ROLES]
    return _ROLES.get(role) or SERIES[5 + others.index(role) % 2]


def marked(segments: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The segments whose begin is marked by a line."""
    return [segment for segment in segments if segment["kind"] in ("config", "isr-restored")]


def log_steps(low: float, high: float) -> tuple[int, ...]:
    """The steps between powers of ten that get a label on a logarithmic axis."""
    return (1, 2, 5) if high < 50 * low else (1,)


def _fate(row: dict[str, Any]) -> str:
    return str(row["outcome"]) + (f" ({row['cause']})" if row["cause"] else "")


def _fates(axis: Any, rows: Sequence[dict[str, Any]], width: float) -> None:
    names = fate_names(rows)
    size = max((r["bucket"] for r in rows), default=0) + 2
    x = [i * width for i in range(size)]
    bottom = [0.0] * size
    for name, colour in zip(names, fate_colours(names), strict=True):
        values = [0.0] * size
        for row in rows:
            if shown_fate(row, names) == name:
                values[row["bucket"]] += row["records"] / width
        top = [b + v for b, v in zip(bottom, values, strict=True)]
        # Steps rather than bars: bars leave hairlines between them when the picture is scaled.
        axis.fill_between(x, bottom, top, step="post", color=colour, label=legend(name), linewidth=0)
        bottom = top
    axis.set_title("records, by the time of their answer")
    axis.set_ylabel("records/s")
    limit = rate_limit(bottom)
    for at, value in zip(x, bottom, strict=True):
        if value > limit:  # the answers that had waited for the end of an outage
            axis.annotate(f"{value:,.0f}/s", (at, limit), (4, -10), textcoords="offset points", fontsize=9, color=INK)
    axis.set_ylim(0, limit)
    _legend_beside(axis)


def rate_limit(totals: Sequence[float]) -> float:
    """A little above the highest total, or above the usual ones if it is far higher."""
    return 1.1 * min(max(totals), 3 * statistics.median([t for t in totals if t > 0] or [1.0]))


def _legend_beside(axis: Any) -> None:
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.2)


def legend(name: str) -> str:
    """An outcome in words."""
    return {"OK": "acknowledged", "UNANSWERED": "no answer"}.get(name, name)


def _latency(axis: Any, rows: Sequence[dict[str, Any]], width: float) -> None:
    x = [(r["bucket"] + 0.5) * width for r in rows]
    for key, label, colour in (("p50_us", "p50", GOOD), ("p99_us", "p99", SECOND)):
        axis.plot(
            x, [r[key] / 1000 for r in rows], linestyle="none", marker="o", markersize=3, color=colour, label=label
        )
    axis.set_title("latency of acknowledged records from their due time, by the time of their acknowledgement")
    log_ms(axis)
    _legend_beside(axis)


def _span(axis: Any, rows: Sequence[dict[str, Any]]) -> None:
    axis.step([r["at_s"] for r in rows], [r["least"] for r in rows], where="post", color=GOOD)
    axis.set_title("racks in the in-sync set (lowest of all partitions), from the broker's metric IsrRackCount")
    axis.set_ylim(0, max(r["most"] for r in rows) + 0.5)
    axis.set_ylabel("racks")


def _marks(axis: Any, data: dict[str, Any]) -> None:
    for window in data["windows"]:
        axis.axvspan(window["begin_s"], window["end_s"], color=SHADE, alpha=0.6, linewidth=0, zorder=0)
    for segment in marked(data["segments"]):
        axis.axvline(segment["at_s"], color=MARK, linewidth=1.2, linestyle="--")


def _mark_labels(axis: Any, data: dict[str, Any]) -> None:
    """Labels above the first panel, on as many lines as needed to keep neighbours apart."""
    room = data["seconds"] / 100
    ends: list[float] = []
    texts = [(w["begin_s"], f"{w['label']} (shaded)") for w in data["windows"]]
    texts += [(s["at_s"], s["label"]) for s in marked(data["segments"])]
    for at, text in sorted(texts):
        line = next((i for i, end in enumerate(ends) if end < at), len(ends))
        ends[line : line + 1] = [at + room * (len(text) * 1.02 + 2)]
        place = (at, 1.0)
        axis.annotate(
            text,
            place,
            xycoords=("data", "axes fraction"),
            xytext=(2, 22 + 13 * line),
            textcoords="offset points",
            fontsize=9,
            color=INK,
        )


def log_ms(axis: Any) -> None:
    axis.set_yscale("log")
    axis.set_ylabel("ms")
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=log_steps(low, high), numticks=9))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_minor_formatter(lambda value, _: "")


def svg(figure: Any, title: str) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", text, count=1)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(title)}" ', 1)
    # Names inside the file must be unique on a page that holds several pictures.
    salt = f"c{zlib.crc32(title.encode()):x}"
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{salt}-", text)
    return text
