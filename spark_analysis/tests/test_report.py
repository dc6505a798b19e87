"""All steps from run folders to the page, on generated runs with known answers."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_analysis import cli
from spark_analysis.errors import ENVIRONMENT, FAILED, OK
from spark_analysis.input.folders import read_folder
from spark_analysis.report import markdown, render, words
from spark_analysis.report.benchmark.headline import promises
from spark_analysis.report.document import build
from spark_analysis.report.run_part import part_of
from spark_analysis.statistics.verdict_words import NOT_HERE
from spark_analysis.tests.browser import DESKTOP, PHONE, Browser, drawn
from spark_analysis.tests.generated import MS, SECOND, ack, event, folder, read


@pytest.fixture(scope="module")
def html(report: Path) -> Iterator[str]:
    yield (report / "report.html").read_text()


class Text(HTMLParser):
    """Text and tags of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_the_outage_is_reported_with_its_numbers(document: dict[str, Any]) -> None:
    run = document["runs"][0]
    assert run["findings"] == [
        "LOST: 1 of the 1,100 acknowledged records.",
        "With rack b down from 10.00 s on, sends refused or given up until the next change: 400, of these 400 "
        "NOT_ENOUGH_RACKS (the first after 2.00 s).",
        "min.insync.racks 2 → 1: acknowledged again after 0.50 s, 200 records acknowledged until the next change.",
        "min.insync.racks 1 → 2: 150 records acknowledged until the next change.",
        "Every replica was in sync again 2.00 s after the fault was healed.",
    ]
    totals = run["outage"]["durability"]["totals"]
    assert (totals["lost"], totals["duplicates"], totals["present_though_not_acknowledged"]) == (1, 1, 1)
    assert [r["seq"] for r in run["outage"]["durability"]["lost_first"]] == [100]
    (silence,) = run["outage"]["silences"]
    # The last record due before the outage is answered at 11.984 s, the next acknowledgement comes at 20.5 s.
    assert silence["silence_s"] == pytest.approx(8.516, abs=0.001)
    assert run["outage"]["series"]["span"][12] == {"at_s": 12.0, "least": 1.0, "most": 1.0}


def test_a_producer_whose_acknowledgements_are_not_on_file_leaves_the_verdict_unknown(
    spark: SparkSession, tmp_path: Path
) -> None:
    notes = [event(0, "note", "producer", producer=name, acks="all") for name in ("p", "q")]
    ends = event(SECOND, "note", "read-back", topic="t", end_offsets={"0": 10}, complete=True)
    reads = [read(seq) for seq in range(5)] + [read(seq, producer="q", offset=5 + seq) for seq in range(5)]
    acks = [ack(seq, seq * MS, MS) for seq in range(5)]
    path = folder(tmp_path / "run", acks=acks, reads=reads, events=[*notes, ends], kind="outage")
    part = part_of(spark, read_folder(path)).data
    verdict = build([part], [])["verdict"]
    assert verdict["state"] == "not checked" and "producer q, which has no acknowledgements on file" in verdict["text"]
    assert "5 records that were read, and whose sends are not on file" in verdict["text"]
    assert part["findings"][0] == "None of the 5 acknowledged records was lost (not checked: producer q)."


def test_racks_that_could_be_lost_are_a_matrix_against_topics(document: dict[str, Any], html: str) -> None:
    predicted = document["runs"][0]["outage"]["predicted_losses"]
    assert predicted["topics"] == ["t"] and [row["racks"] for row in predicted["losses"]] == [["a"], ["a", "b"]]
    text = Text(html).text
    assert "a not writable, readable, nothing lost" in text
    assert "a and b not writable, perhaps readable, acknowledged records lost" in text


def test_a_loss_that_is_not_known_is_never_safe() -> None:
    cell = {"writable": "unknown", "readable": "unknown", "safe": "unknown", "reason": ""}
    assert words.predicted(cell) == "perhaps writable, perhaps readable, acknowledged records perhaps lost"
    assert words.predicted(None) == "not known"


def test_outcomes_add_up_to_what_was_sent(document: dict[str, Any]) -> None:
    data = document["runs"][0]["outage"]
    assert sum(r["records"] for r in data["outcomes"]) == 1500
    assert sum(r["records"] for r in data["series"]["fates"]) == 1500


def test_two_rounds_of_a_benchmark_carry_no_verdict(document: dict[str, Any]) -> None:
    run = document["runs"][1]
    row = next(r for r in run["bench"]["ratios"] if (r["role"], r["per_thousand"]) == ("candidate", 500))
    assert (row["rounds"], row["low"], row["verdict"]) == (2, None, "not enough runs")
    assert run["findings"][0].endswith("not enough runs.")
    assert run["bench"]["cpu_busy"] == 0.4 and document["warnings"] == []


def test_without_delays_the_distances_are_not_evaluated(document: dict[str, Any]) -> None:
    goals = {row["id"]: row for row in reversed(document["runs"][1]["bench"]["goals"])}
    assert goals["P1"]["verdict"].startswith("not measurable here: the racks are not 2 ms apart")
    assert goals["P1"]["estimate"] is not None and goals["P1"]["low"] is None
    assert goals["P3"]["verdict"] == "not enough runs"


@pytest.mark.parametrize(("share", "text"), [(0.5, "50% busy in the median block."), (0.97, "it was saturated")])
def test_a_saturated_machine_is_reported(share: float, text: str) -> None:
    assert text in words.machine({"cpu_busy": share})


def test_tables_are_written_beside_the_page(spark: SparkSession, report: Path, document: dict[str, Any]) -> None:
    assert spark.read.parquet(str(report / "tables/lost")).count() == 1
    histogram = spark.read.parquet(str(report / "tables/bench_histogram")).collect()
    assert sum(r["records"] for r in histogram) == sum(r["records"] for r in document["runs"][1]["bench"]["blocks"])


def test_the_page_holds_the_numbers_of_the_document(html: str, document: dict[str, Any]) -> None:
    text = Text(html).text
    for run in document["runs"]:
        assert all(sentence in text for sentence in run["findings"])
        assert run["run_id"] in text
    for row in document["runs"][1]["bench"]["pooled"]:
        shown = "not enough samples" if row["value_us"] is None else f"{row['value_us'] / 1000:.2f} ms"
        assert shown in text
    assert "seed 7" in text and "kafka 4.3.1" in text and "kip-min-insync-racks" in text
    assert "Skipped: " in text and "not-a-run is not a run folder" in text


def test_the_markdown_has_the_findings_and_the_tables_of_a_benchmark(report: Path, document: dict[str, Any]) -> None:
    text = (report / "report.md").read_text()
    assert all(f"- {sentence}" in text for run in document["runs"] for sentence in run["findings"])
    rows = [line for line in text.splitlines() if line.startswith("| acks=")]
    assert [row.split(" | ")[:2] for row in rows[: len(document["runs"][1]["bench"]["modes"])]] == [
        [f"| {mode['label']}", "500"] for mode in document["runs"][1]["bench"]["modes"]
    ]
    widths = {line.count(" | ") for line in text.splitlines() if line.startswith("| P")}
    assert widths == {9}, "ten columns in every row of the goals"


def test_trials_of_the_same_benchmark_are_reported_together(document: dict[str, Any]) -> None:
    one, other = (copy.deepcopy(document["runs"][1]) for _ in range(2))
    other["run_id"] = "second"
    goals = one["bench"]["goals"]
    known = [row for row in goals if row["estimate"] is not None and not row["verdict"].startswith(NOT_HERE)]
    ratio = known[0]["estimate"]
    made = build([one, other], [])
    lines = markdown.summary(made).splitlines()
    place = lines.index("## made: 2 trials, each on a fresh cluster")
    head = next(n for n in range(place, len(lines)) if lines[n].startswith("| "))
    assert lines[place + 2].startswith("- made, 2 trials: P")
    assert lines[head].endswith("| 95 % interval | noise | trials | verdict | each trial |")
    assert lines[head + 2].endswith(f"| - | not known | 2 | not enough runs | {ratio:.2f}, {ratio:.2f} |")
    page = Text(render.page(made)).text
    assert "2 trials, each on a fresh cluster" in page and f"not enough runs {ratio:.2f}, {ratio:.2f}" in page
    assert "each on a fresh cluster" not in Text(render.page(build([one], []))).text


def test_the_page_needs_nothing_from_outside(html: str) -> None:
    page = Text(html)
    assert not [t for t, a in page.tags if t in ("iframe", "img", "object") or (t == "script" and "src" in a)]
    links = [v for _, a in page.tags for k, v in a.items() if k in ("href", "src", "xlink:href") and v]
    assert links and all(link.startswith(("#", "data:")) for link in links)
    styles = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert not re.findall(r"url\((?!#)|@import", styles)


def test_pictures_follow_the_theme_of_the_page(html: str) -> None:
    page = Text(html)
    pictures = [a for t, a in page.tags if t == "svg"]
    assert len(pictures) == 5 and all(a.get("aria-label") for a in pictures)
    svg = "".join(re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL))
    assert "var(--s0)" in svg and "#0505" not in svg and "#0101" not in svg
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids)), "two pictures share an id"
    assert "prefers-color-scheme: dark" in html and "@media print" in html


def test_pictures_stand_alone_too(report: Path) -> None:
    files = sorted((report / "pictures").glob("*.svg"))
    assert [f.name.rpartition("-")[2] for f in files] == [
        "blocks.svg",
        "nines.svg",
        "shift.svg",
        "outage.svg",
        "ratios.svg",
    ]
    for file in files:
        used = set(re.findall(r"var\((--\w+)\)", file.read_text()))
        defined = set(re.findall(r"(--\w+):", file.read_text()))
        assert ElementTree.parse(file).getroot().tag.endswith("svg") and used and used <= defined


def test_nothing_to_read_is_a_failure_that_names_every_folder(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli.main(["report", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path / "out")])
    err = capsys.readouterr().err
    assert code == ENVIRONMENT
    assert "none of 2 folders could be read" in err and str(tmp_path / "a") in err and str(tmp_path / "b") in err
    assert not (tmp_path / "out").exists()


def test_a_table_that_is_cut_short_is_data_that_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    good, bad = (folder(tmp_path / name, acks=[ack(0, 0, MS)]) for name in ("good", "bad"))
    file = bad / "acks/part-0.parquet"
    file.write_bytes(file.read_bytes()[:200])
    assert cli.main(["report", str(bad), "--out", str(tmp_path / "none")]) == ENVIRONMENT
    assert cli.main(["report", str(good), str(bad), "--out", str(tmp_path / "out")]) == ENVIRONMENT
    assert (tmp_path / "out/report.html").exists()
    assert cli.main(["report", str(good), "--out", str(tmp_path / "out")]) == OK


def test_unfinished_and_empty_runs_are_named(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = folder(tmp_path / "cut", state="running", acks=[ack(0, 0, MS)])
    empty = folder(tmp_path / "empty", state="failed", failure="no broker")
    assert cli.main(["report", str(cut), str(empty), "--out", str(tmp_path / "out")]) == FAILED
    reported = capsys.readouterr()
    assert f"1 folder skipped\n  observed: {empty} holds no record of any send\n  do:       see" in reported.err
    assert reported.out.strip() == str(tmp_path / "out/report.html")
    text = Text((tmp_path / "out/report.html").read_text()).text
    assert "cut was never finished" in text
    for shown in (text, reported.err):
        assert f"{empty} holds no record of any send" in shown and "no row in acks, 0 events, state failed" in shown


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_draws_the_page_without_violation(
    browser: Browser, report: Path, tmp_path: Path, size: tuple[int, int], scheme: str
) -> None:
    browser.violations.clear()
    browser.open(f"file://{report}/report.html", size, scheme)
    browser.ask("document.querySelector('figure.plotted').scrollIntoView()")
    browser.ask(drawn(1))
    assert browser.violations == []
    assert browser.requested == [f"file://{report}/report.html"]
    paper = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(n) for n in re.findall(r"\d+", paper)) < 200) == (scheme == "dark"), paper
    ink = browser.ask("getComputedStyle(document.querySelector('figure svg text')).fill")
    assert (sum(int(n) for n in re.findall(r"\d+", ink)) > 500) == (scheme == "dark"), ink
    folded = browser.ask("[...document.querySelectorAll('figure')].filter(f => !f.checkVisibility()).length")
    assert folded == 3, "the pictures of a benchmark are among its details"
    browser.ask("document.querySelectorAll('details').forEach(d => { d.open = true })")
    sizes = browser.ask(_SIZES)
    assert len(sizes) == 5 and all(width > 300 and height > 100 for width, height in sizes), sizes
    wide = browser.ask("document.documentElement.scrollWidth")
    assert wide <= size[0], f"{wide} pixels wide in a window of {size[0]}: {browser.ask(_BEYOND)}"
    assert browser.picture(tmp_path / "page.png").stat().st_size > 20_000


# Of the picture or plot that each figure shows.
_SIZES = """[...document.querySelectorAll('figure')]
    .map(f => [...f.querySelectorAll('svg')].find(s => s.checkVisibility()))
    .map(s => [s.clientWidth, s.clientHeight])"""
# What reaches beyond the window although nothing around it scrolls.
_BEYOND = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.wide, figure, pre')
    && e.getBoundingClientRect().right > innerWidth).map(e => e.tagName + ' ' + e.textContent.slice(0, 60))"""


def test_numbers_in_the_browser_are_those_of_the_document(
    browser: Browser, report: Path, document: dict[str, Any]
) -> None:
    browser.open(f"file://{report}/report.html", DESKTOP, "light")
    assert browser.ask("[...document.querySelectorAll('.headline')].map(e => e.textContent)") == document["headline"]
    verdict = browser.ask("document.querySelector('header .verdict').textContent")
    assert verdict == "✗ LOST: 1 record of 1,100 acknowledged with acks=all in outage."
    modes = browser.ask(
        "[...document.querySelectorAll('#modes tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    assert modes == [
        [r["run"], r["mode"], *r["latencies"], r["acknowledged"], r["survives"]] for r in document["modes"]
    ]
    run = document["runs"][1]
    table = f"[...document.querySelectorAll('#ratios-{run['run_id']} tbody tr')]"
    cells = f"{table}.map(r => [...r.cells].map(c => c.textContent))"
    rows = browser.ask(cells)
    assert [(r[:4], r[6], r[8]) for r in rows] == [
        (
            [r["mode"], words.percentile(r["per_thousand"]), words.number(r["estimate"]), words.span(r)],
            str(r["rounds"]),
            r["verdict"],
        )
        for r in run["bench"]["ratios"]
    ]
    assert len(rows) == 3
    skipped = browser.ask("document.querySelector('#skipped').textContent")
    assert all(e["observed"] in skipped and e["do"] in skipped for e in document["skipped"])


def test_the_page_prints_on_white_and_nothing_is_cut_off(browser: Browser, report: Path) -> None:
    browser.open(f"file://{report}/report.html", (794, 1123), "dark", "print")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.ask("document.documentElement.scrollWidth") <= 794
    assert len(browser.call("Page.printToPDF")["data"]) > 50_000


def test_four_runs_take_no_more_than_six_screens(browser: Browser, document: dict[str, Any], tmp_path: Path) -> None:
    runs = [{**run, "run_id": f"{run['run_id']}-{n}"} for n in (1, 2) for run in document["runs"]]
    (tmp_path / "four.html").write_text(render.page(build(runs, [])))
    browser.open(f"file://{tmp_path}/four.html", DESKTOP, "light")
    assert browser.ask("document.documentElement.scrollHeight") <= 6 * DESKTOP[1]


def test_what_was_lost_comes_first_then_the_comparison(document: dict[str, Any]) -> None:
    assert document["verdict"]["state"] == "lost"
    assert document["headline"] == [
        "made: acks=min.insync.replicas answers in 0.353 of acks=all's p50, not enough runs.",
    ]
    assert document["promises"] == [
        "acks=min.insync.replicas (min.insync.replicas=2, min.insync.racks=2): that many in-sync replicas had the "
        "record; a move to a leader that lags loses it.",
        "acks=all (min.insync.replicas=2, min.insync.racks=2): all in-sync replicas had the record; no move or crash "
        "of a leader loses it.",
    ]
    far = copy.deepcopy(document["runs"][1])
    far["bench"]["modes"][1]["topic"] = {"min.insync.racks": "1"}
    assert "acks=all (min.insync.replicas=2, min.insync.racks=1): all in-sync replicas" in " ".join(promises([far]))
    far["bench"]["modes"][1]["topic"] = {"acks.all.scope": "min.insync.replicas"}
    assert "acks=all, acks.all.scope=min.insync.replicas (" in " ".join(promises([far]))
    assert "all in-sync replicas" not in " ".join(promises([far])), "the weaker promise"
