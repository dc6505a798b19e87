"""Plots in a real browser: values on hovering, one zoom for all panels, pictures where no script runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import vl_convert

from spark_analysis.report import document, vega
from spark_analysis.report.files import plain, write_page
from spark_analysis.tests import plain_counts
from spark_analysis.tests.browser import DESKTOP, Browser, drawn, until
from spark_analysis.tests.generated_bench import bench_run

_TOOLTIP = "document.querySelector('#vg-tooltip-element.visible')"
# Labels of the x axis of every panel, the strip last.
_TICKS = """[...document.querySelectorAll('.plot g[aria-label^="X-axis"]')]
    .map(axis => [...axis.querySelectorAll('.role-axis-label text')].map(t => +t.textContent).sort((a, b) => a - b))"""


def _place(elements: str, at: float = 0.5) -> str:
    """The middle of the first of these elements, or another place on its width, in the window."""
    element = f"document.querySelector({elements!r})"
    box = f"(e => {{ e.scrollIntoView({{ block: 'center' }}); return e.getBoundingClientRect() }})({element})"
    return f"(b => [b.left + {at} * b.width, b.top + b.height / 2])({box})"


@pytest.fixture
def page(browser: Browser, report: Path) -> Browser:
    browser.violations.clear()
    browser.open(f"file://{report}/report.html", DESKTOP, "light")
    browser.ask(drawn(1))
    return browser


@pytest.mark.variant
def test_a_point_shows_its_values_when_the_mouse_is_over_it(page: Browser, document: dict[str, Any]) -> None:
    row = document["runs"][0]["outage"]["series"]["latency"][3]
    at = round((row["bucket"] + 0.5) * document["runs"][0]["outage"]["bucket_s"], 3)
    label = f'.plot path[aria-label^="at_s: {at:g};"][aria-label*="quantile: p99"]'
    page.mouse("mouseMoved", page.ask(_place(label)))
    page.ask(until(f"{_TOOLTIP} !== null"))
    shown = page.ask(f"[...{_TOOLTIP}.querySelectorAll('tr')].map(r => [...r.cells].map(c => c.textContent))")
    assert [name for name, _ in shown] == ["quantile", "ms", "at, s"]
    assert shown[0][1] == "p99" and float(shown[1][1]) == pytest.approx(row["p99_us"] / 1000)
    assert page.violations == []


def test_dragging_in_the_strip_zooms_all_panels_until_a_double_click(page: Browser) -> None:
    strip = '.plot g[aria-roledescription="area mark container"]'
    before = page.ask(_TICKS)
    places = [page.ask(_place(strip, at)) for at in (0.3, 0.5, 0.6)]
    page.mouse("mouseMoved", places[0])
    page.mouse("mousePressed", places[0], 1)
    for place in places[1:]:
        page.mouse("mouseMoved", place, 1)
    page.mouse("mouseReleased", places[-1], 1)
    page.ask(until(f"JSON.stringify({_TICKS}[0]) !== JSON.stringify({before[0]!r})"))
    after = page.ask(_TICKS)
    assert len(before) == len(after) >= 3
    assert after[0] != before[0] and all(ticks == after[0] for ticks in after[:-1]), after
    assert after[-1] == before[-1], "the strip itself shows all"
    for kind in ("mousePressed", "mouseReleased"):
        page.mouse(kind, places[1], 1)
    for kind in ("mousePressed", "mouseReleased"):
        page.mouse(kind, places[1], 2)
    page.ask(until(f"JSON.stringify({_TICKS}[0]) === JSON.stringify({before[0]!r})"))


def test_without_scripts_the_pictures_stay(browser: Browser, report: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(f"file://{report}/report.html", DESKTOP, "light")
        assert browser.ask("document.querySelectorAll('.plot').length") == 0
        assert browser.ask("document.querySelector('figure.plotted > svg').checkVisibility()")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_a_plot_that_cannot_be_drawn_leaves_its_picture(browser: Browser, report: Path, tmp_path: Path) -> None:
    text = (report / "report.html").read_text().replace('"type": "rect"', '"type": "nosuch"')
    (tmp_path / "broken.html").write_text(text)
    browser.open(f"file://{tmp_path}/broken.html", DESKTOP, "light")
    browser.ask("draw(document.querySelector('figure.plotted'))")
    browser.ask(until("document.querySelectorAll('.plot').length === 0"))
    assert browser.ask("document.querySelector('figure.plotted > svg').checkVisibility()")


def test_the_latency_around_a_fault_is_plotted_for_every_mode(browser: Browser, tmp_path: Path) -> None:
    run = bench_run(tmp_path / "run", fault={"how": "pause", "target": "rack:c", "seconds": 2, "recover": 2}, rounds=2)
    built = document.build([plain_counts.part(run)], [])
    page = write_page(plain(built), tmp_path / "out", print)
    bench = built["runs"][0]["bench"]
    browser.violations.clear()
    browser.open(f"file://{page}", DESKTOP, "dark")
    browser.ask("document.querySelectorAll('details').forEach(d => { d.open = true })")
    browser.ask("document.querySelector('figure.plotted').scrollIntoView()")
    browser.ask(drawn(1))
    shown = browser.ask("[...document.querySelectorAll('.plot .role-legend-label text')].map(t => t.textContent)")
    assert set(shown) == {mode["label"] for mode in bench["modes"]} and browser.violations == []


def test_the_script_is_bundled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = vega.script(tmp_path / "build" / "vega")
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: pytest.fail("bundled again"))
    assert vega.script(tmp_path / "build" / "vega") == first and "</script" not in first
