"""The document as one self-contained page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from spark_analysis.report import charts, words

_TEMPLATES = Path(__file__).parent / "templates"


def page(document: dict[str, Any]) -> str:
    """The HTML text; every number in it is one of the document, or counted from it by words.py."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=words.count,
        ms=words.milliseconds,
        seconds=words.seconds,
        quantile=words.quantile,
        ratio=words.ratio,
        outcome=words.outcome,
        pretty=lambda value: json.dumps(value, indent=2, default=str),
    )
    pictures = {run["run_id"]: _pictures(run) for run in document["runs"]}
    return environment.get_template("report.html.j2").render(document=document, pictures=pictures, words=words)


def _pictures(run: dict[str, Any]) -> dict[str, Markup]:
    name = run["run_id"]
    # The SVG text is made here from numbers and escaped labels, not taken from the run.
    if run["outage"]:
        return {"outage": Markup(charts.outage(run["outage"], name))}
    if run["latency"]:
        return {
            "nines": Markup(charts.nines(run["latency"], name)),
            "blocks": Markup(charts.blocks(run["latency"], name)),
        }
    return {}
