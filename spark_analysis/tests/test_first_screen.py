"""The first screen: what was lost, what modes survive, marks of verdicts, and the plot of ratios."""

from __future__ import annotations

import re
from typing import Any

import pytest

from spark_analysis.report import first_screen
from spark_analysis.report.first_screen import KEPT, LOST, UNKNOWN
from spark_analysis.report.forest import forest
from spark_analysis.report.promises import survives
from spark_analysis.statistics.verdict_words import ACROSS, BEYOND, FLOOR_MET, GOAL_MET, NOT_ENOUGH, WITHIN_NOISE


def outage(state: str, acks: str = "all", lost: int = 0, acknowledged: int = 100, **changes: Any) -> dict[str, Any]:
    row = {"acks": acks, "lost": lost, "acknowledged": acknowledged}
    topics = ["u"] if state == "checked in part" else []
    durability: dict[str, Any] = {"state": state, "totals": row, "producers": [row], "unchecked_topics": topics}
    durability |= {"without_acks": [], "phantoms": 0, **changes}
    return {"name": "outage", "outage": {"durability": durability}, "bench": None}


def bench(lost: int = 0) -> dict[str, Any]:
    success = [{"role": "candidate", "part": "quiet", "mode": "acks=1", "answered": 50, "lost": lost}]
    return {"name": "bench", "outage": None, "bench": {"success": success}}


@pytest.mark.parametrize(
    ("parts", "state", "text"),
    [
        ([outage("checked")], KEPT, "Nothing was lost: each of 100 acknowledged records was read back."),
        (
            [outage("checked"), bench()],
            KEPT,
            "Nothing was lost in outage: each of 100 acknowledged records was read back. Benchmarks read nothing "
            "back: bench.",
        ),
        ([outage("checked", without_acks=["q"])], UNKNOWN, "Not checked: producer q, which has no acknowledgements on"),
        ([outage("checked", phantoms=2)], UNKNOWN, "2 records that were read, and whose sends are not on file (of ou"),
        ([bench()], UNKNOWN, "Whether records were lost was not checked: none were read back."),
        ([outage("not checked", acknowledged=0)], UNKNOWN, "was not checked"),
        (
            [outage("checked", acknowledged=0)],
            UNKNOWN,
            "is not known: where they were read back, none was acknowledged.",
        ),
        ([outage("checked in part")], UNKNOWN, "Not checked: topic u (of outage)."),
        ([outage("checked"), outage("not checked", acknowledged=0)], UNKNOWN, "Not checked: outage."),
        ([], UNKNOWN, "was not checked"),
        ([outage("checked", lost=1)], LOST, "LOST: 1 record of 100 acknowledged with acks=all in outage."),
        ([outage("checked"), bench(lost=2)], LOST, "LOST: 2 records of 50 acknowledged with acks=1 in bench."),
        ([outage("not checked", lost=3)], LOST, "LOST: 3 records"),
    ],
)
def test_the_verdict_is_kept_only_if_every_outage_was_read_back(
    parts: list[dict[str, Any]], state: str, text: str
) -> None:
    found = first_screen.verdict(parts)
    assert found["state"] == state and text in found["text"]
    assert found["mark"] == {LOST: "✗", KEPT: "✓", UNKNOWN: "?"}[state]


def test_a_skipped_folder_leaves_the_verdict_unknown_unless_another_run_lost_records() -> None:
    found = first_screen.verdict([outage("checked")], 2)
    assert found["state"] == UNKNOWN and found["text"].endswith("was read back. Not checked: 2 folders skipped.")
    assert first_screen.verdict([outage("checked", lost=1)], 1)["state"] == LOST


@pytest.mark.parametrize(
    ("acks", "settings", "what"),
    [
        ("all", {"min.insync.replicas": 2, "min.insync.racks": 2}, "any rack"),
        ("all", {"min.insync.replicas": "2", "min.insync.racks": "3"}, "any 2 racks"),
        ("all", {"min.insync.replicas": 3}, "any 2 brokers"),
        ("all", {}, "no broker"),
        ("1", {"min.insync.replicas": 2, "min.insync.racks": 2}, "no broker"),
        ("min.insync.replicas", {"min.insync.racks": 2}, "any rack, unless a replica that lags is elected"),
        ("-2", {"min.insync.replicas": 2}, "any broker, unless a replica that lags is elected"),
        (
            "all",
            {"min.insync.racks": 2, "acks.all.scope": "min.insync.replicas"},
            "any rack, unless a replica that lags is elected",
        ),
    ],
)
def test_what_a_record_survives_follows_from_acks_and_settings(acks: str, settings: dict[str, Any], what: str) -> None:
    assert survives(acks, settings) == survives(acks, settings, 1) == what
    assert survives(acks, settings, 2) == what.removesuffix(", unless a replica that lags is elected")


def test_a_verdict_that_is_not_shown_has_neither_tick_nor_cross() -> None:
    marks = [first_screen.mark(v) for v in (GOAL_MET, FLOOR_MET, BEYOND, ACROSS, NOT_ENOUGH, WITHIN_NOISE)]
    assert marks == ["✓", "✓", "✗", "?", "?", "?"]


def row(**changed: Any) -> dict[str, Any]:
    known = {"run": "far & near", "what": "p50, a < b", "estimate": 0.1, "low": 0.08, "high": 0.12, "noise": 1.05}
    return {**known, "goal": 0.2, "floor": 0.3, "verdict": GOAL_MET, "mark": "✓", **changed}


def test_the_plot_says_in_words_what_it_draws() -> None:
    svg = forest(
        [row(), row(what="max", estimate=2.5, low=None, high=None, verdict=NOT_ENOUGH, mark="?")], "far & near"
    )
    label = re.search(r'aria-label="([^"]*)"', svg)
    assert label is not None
    assert label[1] == (
        "Ratios of far &amp; near: p50, a &lt; b: 0.100 (0.08 to 0.120), meets the goal; max: 2.500, not enough runs"
    )
    assert "✓ far &amp; near: p50, a &lt; b" in svg and "? far &amp; near: max" in svg


def test_an_infinite_ratio_is_not_drawn_and_an_infinite_end_reaches_the_border() -> None:
    assert forest([row(estimate=float("inf"))], "x") == ""
    assert forest([row(high=float("inf")), row(estimate=float("inf"))], "x").count("far &amp; near: p50") == 1
