"""The plots of the page as Vega-Lite specifications: values on hovering, and a strip to zoom all panels at once.

Colours are CSS variables of the page. The pictures of charts.py and benchmark_charts.py show the same without a script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_analysis.report import charts
from spark_analysis.report.charts import GOOD, GRID, INK, MARK, SHADE, VARIABLES, legend

Spec = dict[str, Any]
_INK, _GRID, _SHADE, _MARK, _GOOD = (VARIABLES[colour] for colour in (INK, GRID, SHADE, MARK, GOOD))
_CONFIG: Spec = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {"labelColor": _INK, "titleColor": _INK, "gridColor": _GRID, "domainColor": _GRID, "tickColor": _GRID},
    "legend": {"labelColor": _INK, "titleColor": _INK, "orient": "bottom", "title": None, "labelLimit": 400},
    "title": {"color": _INK, "anchor": "start", "fontWeight": "normal", "fontSize": 13},
}
_ZOOM: Spec = {"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}}
_ZOOMED: Spec = {"domain": {"param": "zoom", "encoding": "x"}, "nice": False, "zero": False}
_STRIP = "drag here to zoom; a double click shows all"


def outage(data: dict[str, Any], name: str) -> Spec:
    """The panels of `charts.outage`, with a strip of all acknowledgements below."""
    series, width = data["series"], data["bucket_s"]
    names = charts.fate_names(series["fates"])
    records = _records(series["fates"], names, width)
    end = max([data["seconds"], width, *(row["end_s"] for row in records)])
    around = [_ends(end), _windows(data["windows"]), _marks(data["segments"])]
    panels = [
        _panel(150, "records/s, by the time of their answer", [*around, _bars(records, names)]),
        _panel(120, "latency of acknowledged records from their due time, ms", [*around, *_latency(series, width)]),
    ]
    if series["span"]:
        panels.append(_panel(60, "racks in the in-sync set, lowest of all partitions", [*around, _span(series, end)]))
    good = [row for row in records if row["outcome"] == legend("OK")]
    panels.append(_strip(good, "high", "begin_s", end))
    return _spec(f"Outage of {name} over time: records by outcome, and latency", panels)


def fault(data: dict[str, Any], name: str) -> Spec:
    """The panel of `benchmark_charts`' fault: median and maximum by the time records were due, with a strip to zoom."""
    line = data["fault"]["timeline"]
    labels = {mode["role"]: mode["label"] for mode in data["modes"]}
    rows = [
        {
            "mode": labels[row["role"]],
            "at_s": round(row["bucket"] * line["bucket_s"], 3),
            "p50": row["p50_us"] / 1000,
            "max": row["max_us"] / 1000,
        }
        for row in line["points"]
        if row["role"] in labels
    ]
    tooltip = [_shown("mode", "mode"), _shown("at_s", "due, s"), _shown("p50", "p50, ms"), _shown("max", "maximum, ms")]
    x = _x("at_s", _ZOOMED)
    colours = [charts.mode_colour(data, mode["role"]) for mode in data["modes"]]
    colour = _coloured("mode", [mode["label"] for mode in data["modes"]], colours)
    ends = [0.0, line["fault_s"], *(row["at_s"] for row in rows)]
    layers = [
        _ends(max(ends), min(ends)),
        _windows([{"label": "fault", "begin_s": 0, "end_s": line["fault_s"]}]),
        _layer(rows, {"type": "line", "clip": True}, x=x, y=_log("p50", rows), color=colour),
        _layer(rows, _dot(18), x=x, y=_log("max", rows), color=colour, tooltip=tooltip),
    ]
    strip = _strip([r for r in rows if r["mode"] == rows[0]["mode"]], "max", "at_s", max(ends), min(ends))
    return _spec(f"Latency around the fault, one round of {name}", [_panel(240, "latency, ms", layers), strip])


def _spec(description: str, panels: Sequence[Spec]) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": description,
        "config": _CONFIG,
        "vconcat": list(panels),
        "spacing": 10,
        "resolve": {"scale": {"color": "independent"}},
    }


def _panel(height: int, title: str, layers: Sequence[Spec]) -> Spec:
    return {"height": height, "title": title, "layer": list(layers)}


def _strip(rows: Sequence[Spec], y: str, x: str, end: float, begin: float = 0.0) -> Spec:
    """The panel to zoom by: all of one series, small."""
    return {
        "height": 40,
        "title": _STRIP,
        "params": [_ZOOM],
        **_layer(
            rows,
            {"type": "area", "color": _GOOD, "interpolate": "step-after"},
            x=_x(x, {"domain": [begin, end], "nice": False}) | {"title": "seconds"},
            y={"field": y, "type": "quantitative", "axis": None},
        ),
    }


def _ends(end: float, begin: float = 0.0) -> Spec:
    """Invisible points, so that all panels reach as far."""
    rows = [{"at_s": begin}, {"at_s": end}]
    return _layer(rows, {"type": "point", "opacity": 0, "tooltip": None, "aria": False}, x=_x("at_s", _ZOOMED))


def _layer(rows: Sequence[Spec], mark: Spec, **encoding: Any) -> Spec:
    return {"data": {"values": list(rows)}, "mark": mark, "encoding": encoding}


def _x(field: str, scale: Spec) -> Spec:
    return {"field": field, "type": "quantitative", "scale": scale, "title": None}


def _log(field: str, rows: Sequence[Spec]) -> Spec:
    """An axis with labels at powers of ten, and between them where these are few."""
    values = [row[field] for row in rows] or [1.0]
    at = [step * 10.0**power for power in range(-3, 7) for step in charts.log_steps(min(values), max(values))]
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"type": "log"},
        "title": None,
        "axis": {"values": at, "format": "~g"},
    }


def _coloured(field: str, names: Sequence[str], colours: Sequence[str]) -> Spec:
    """Colours of charts.py by the values of a field."""
    scale = {"domain": list(names), "range": [VARIABLES[colour] for colour in colours]}
    return {"field": field, "type": "nominal", "scale": scale}


def _shown(field: str, title: str) -> Spec:
    return {"field": field, "title": title}


def _dot(size: int) -> Spec:
    return {"type": "point", "filled": True, "size": size, "clip": True}


def _windows(windows: Sequence[dict[str, Any]]) -> Spec:
    rows = [{key: window[key] for key in ("label", "begin_s", "end_s")} for window in windows]
    mark = {"type": "rect", "color": _SHADE, "opacity": 0.6, "clip": True}
    shown = [_shown("label", "fault"), _shown("begin_s", "from, s"), _shown("end_s", "until, s")]
    return _layer(rows, mark, x=_x("begin_s", _ZOOMED), x2={"field": "end_s"}, tooltip=shown)


def _marks(segments: Sequence[dict[str, Any]]) -> Spec:
    rows = [{"label": s["label"], "at_s": s["at_s"]} for s in charts.marked(segments)]
    mark = {"type": "rule", "color": _MARK, "strokeDash": [5, 3], "size": 2, "clip": True}
    return _layer(rows, mark, x=_x("at_s", _ZOOMED), tooltip=[_shown("label", "event"), _shown("at_s", "at, s")])


def _records(fates: Sequence[dict[str, Any]], names: Sequence[str], width: float) -> list[Spec]:
    """Records a second by bucket and outcome, one above the other; the rarest outcomes together."""
    sums: dict[tuple[int, int], int] = {}
    for row in fates:
        at = names.index(charts.shown_fate(row, names))
        sums[row["bucket"], at] = sums.get((row["bucket"], at), 0) + row["records"]
    rows = []
    below: dict[int, float] = {}
    for (bucket, at), records in sorted(sums.items()):
        low = below.get(bucket, 0.0)
        below[bucket] = low + records / width
        rows.append(
            {
                "begin_s": round(bucket * width, 3),
                "end_s": round((bucket + 1) * width, 3),
                "outcome": legend(names[at]),
                "records": records,
                "low": low,
                "high": below[bucket],
            }
        )
    return rows


def _bars(rows: Sequence[Spec], names: Sequence[str]) -> Spec:
    """Bars from `_records`; a bucket far above the usual is cut off at the top."""
    tops = {row["begin_s"]: row["high"] for row in rows}
    colours = charts.fate_colours(names)
    limit = charts.rate_limit(list(tops.values()) or [1.0])
    return _layer(
        rows,
        {"type": "rect", "clip": True},
        x=_x("begin_s", _ZOOMED),
        x2={"field": "end_s"},
        y={"field": "low", "type": "quantitative", "title": None, "scale": {"domain": [0, limit], "nice": False}},
        y2={"field": "high"},
        color=_coloured("outcome", [legend(name) for name in names], colours),
        tooltip=[_shown("outcome", "outcome"), _shown("records", "records"), _shown("begin_s", "from, s")],
    )


def _latency(series: dict[str, Any], width: float) -> list[Spec]:
    rows = [
        {"at_s": round((r["bucket"] + 0.5) * width, 3), "quantile": name, "ms": r[key] / 1000}
        for r in series["latency"]
        for key, name in (("p50_us", "p50"), ("p99_us", "p99"))
        if r[key] > 0
    ]
    colour = _coloured("quantile", ["p50", "p99"], [GOOD, charts.SECOND])
    shown = [_shown("quantile", "quantile"), _shown("ms", "ms"), _shown("at_s", "at, s")]
    return [_layer(rows, _dot(14), x=_x("at_s", _ZOOMED), y=_log("ms", rows), color=colour, tooltip=shown)]


def _span(series: dict[str, Any], end: float) -> Spec:
    rows = [{"at_s": row["at_s"], "racks": row["least"]} for row in series["span"]]
    rows.append({"at_s": end, "racks": rows[-1]["racks"]})
    most = max(row["most"] for row in series["span"])
    return _layer(
        rows,
        {"type": "line", "interpolate": "step-after", "color": _GOOD, "clip": True, "point": {"size": 12}},
        x=_x("at_s", _ZOOMED),
        y={"field": "racks", "type": "quantitative", "title": None, "scale": {"domain": [0, most + 0.5]}},
        tooltip=[_shown("racks", "racks"), _shown("at_s", "at, s")],
    )
