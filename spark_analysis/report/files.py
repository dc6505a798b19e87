"""The files of a report: its page, its numbers and its pictures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from spark_analysis.atomic_files import write_aside
from spark_analysis.locations import Location
from spark_analysis.report.markdown import summary
from spark_analysis.report.render import draw, files, page


def write_page(document: dict[str, Any], out: Location, report: Callable[[str], None]) -> Location:
    """Writes report.json, report.md, pictures and report.html into a folder; returns the last one's path."""
    out.mkdir(parents=True, exist_ok=True)
    write_aside(out / "report.json", json.dumps(finite(document), indent=1, allow_nan=False) + "\n")
    report("drawing")
    (out / "pictures").mkdir(exist_ok=True)
    drawn = draw(document)
    for name, svg in files(drawn).items():
        write_aside(out / "pictures" / name, svg)
    write_aside(out / "report.md", summary(document))
    write_aside(out / "report.html", page(document, drawn))
    report("done")
    return out / "report.html"


def plain(part: dict[str, Any]) -> dict[str, Any]:
    """The part as JSON holds it, numbers with nine significant digits: nothing is lost down to a microsecond."""
    text = json.dumps(part, default=str)
    found: dict[str, Any] = json.loads(text, parse_float=lambda t: float(f"{float(t):.9g}"))
    return found


def finite(value: Any) -> Any:
    """The same without infinite numbers, which JSON lacks: "Infinity" and "-Infinity" stand for them."""
    if isinstance(value, dict):
        return {name: finite(of) for name, of in value.items()}
    if isinstance(value, list):
        return [finite(of) for of in value]
    return ("Infinity" if value > 0 else "-Infinity") if isinstance(value, float) and math.isinf(value) else value
