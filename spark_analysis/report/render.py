"""The document as one self-contained HTML page, and its pictures as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from spark_analysis.html_templates import rendered
from spark_analysis.report import charts, first_screen, forest, plots, vega, words
from spark_analysis.report.benchmark import benchmark_charts

_TEMPLATES = Path(__file__).parent / "templates"
_FILTERS: dict[str, Callable[..., Any]] = {
    "count": words.count,
    "ms": words.milliseconds,
    "latency": words.latency,
    "seconds": words.seconds,
    "percentile": words.percentile,
    "ratio": words.ratio,
    "number": words.number,
    "chance": words.chance,
    "span": words.span,
    "noise": words.noise,
    "outcome": words.outcome,
    "mark": first_screen.mark,
    "pretty": lambda value: json.dumps(value, indent=2, default=str),
}

# By the name of a picture: the part of the run that it is of, and its plot.
_PLOTS = {"outage": ("outage", plots.outage), "fault": ("bench", plots.fault)}


@dataclass(frozen=True)
class Pictures:
    """SVG text of the plot of ratios, empty without one, and of the pictures of each run by its id and their names."""

    ratios: str
    of_runs: dict[str, dict[str, str]]


def draw(document: dict[str, Any]) -> Pictures:
    """All pictures of the page."""
    return Pictures(_ratios(document), {run["run_id"]: _pictures(run) for run in document["runs"]})


def page(document: dict[str, Any], drawn: Pictures | None = None) -> str:
    """The HTML text; every number in it is one of the document, or formatted or counted from it by words.py. Pictures
    are drawn unless they are given.
    """
    drawn = drawn or draw(document)
    pictures = {run: {name: Markup(svg) for name, svg in of_run.items()} for run, of_run in drawn.of_runs.items()}
    ratios = Markup(drawn.ratios)
    drawn_again = {run["run_id"]: _plots(run, pictures[run["run_id"]]) for run in document["runs"]}
    program = Markup(vega.script()) if any(drawn_again.values()) else ""
    return rendered(
        _TEMPLATES / "report.html.j2",
        _FILTERS,
        document=document,
        pictures=pictures,
        plots=drawn_again,
        program=program,
        ratios=ratios,
        words=words,
    )


def files(drawn: Pictures) -> dict[str, str]:
    """File name -> SVG text of every picture of the page, each with the page's colours and background."""
    css = (_TEMPLATES / "report.css").read_text(encoding="utf-8")
    colours = css[: css.index("* {")].replace("color-scheme: light dark;", "background: var(--paper);")
    found = {f"{run}-{name}.svg": svg for run, of_run in drawn.of_runs.items() for name, svg in of_run.items()}
    found |= {"ratios.svg": drawn.ratios}
    return {name: svg.replace("<defs>", f"<style>{colours}</style><defs>", 1) for name, svg in found.items() if svg}


def _ratios(document: dict[str, Any]) -> str:
    return forest.forest(document["ratios"], ", ".join(dict.fromkeys(row["run"] for row in document["ratios"])))


def _pictures(run: dict[str, Any]) -> dict[str, str]:
    """The SVG text is made here from numbers and escaped labels, not taken from the run."""
    name = run["run_id"]
    if run["outage"]:
        return {"outage": charts.outage(run["outage"], name)}
    if run["bench"]:
        return benchmark_charts.pictures(run["bench"], name)
    return {}


def _plots(run: dict[str, Any], pictures: Container[str]) -> dict[str, Markup]:
    """The specifications of those pictures that the browser draws anew, with values and zoom, as text for a script."""
    specs = {name: plot(run[part], run["run_id"]) for name, (part, plot) in _PLOTS.items() if name in pictures}
    # "<" could end the script element.
    return {name: Markup(json.dumps(spec).replace("<", "\\u003c")) for name, spec in specs.items()}
