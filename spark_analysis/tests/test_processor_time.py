"""Processor time of the brokers per record: what acknowledging a record costs them, patched beside stock."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from spark_analysis.report import document, render
from spark_analysis.report.benchmark import trials
from spark_analysis.statistics.verdict_words import GOAL_MET, IMPROVED, NO_CONTROL, REGRESSED
from spark_analysis.tests import plain_counts
from spark_analysis.tests.generated_bench import bench_run

STOCK = {"least": {"role": "stock", "acks": "all"}, "unaffected": {"role": "stock-control", "acks": "all"}}
SECONDS = {"minisr": 1.2, "all": 1.01, "again": 1.011, "one": 1.0, "calm": 1.002}
WHAT = "processor time of the brokers per record, patched / stock, acks=all"


def _run(path: Path, **made: Any) -> Path:
    return bench_run(path, **{"per_block": 20, "unaffected": True, "of_modes": STOCK, "cpu_s": SECONDS, **made})


def _goal(part: dict[str, Any]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [row for row in part["goals"] if row["what"] == WHAT]
    assert len(rows) == 1
    return rows[0]


def test_seconds_per_million_records_beside_the_baseline_and_stock(tmp_path: Path) -> None:
    part = plain_counts.part(_run(tmp_path / "run"))
    rows = {row["role"]: row for row in part["bench"]["processor_time"]["modes"]}
    assert rows["baseline"]["seconds"] == pytest.approx(1.01 * 1.0025 / 20 * 1e6)
    assert rows["candidate"]["ratio"]["verdict"] == REGRESSED and rows["baseline"]["ratio"] is None
    goal = _goal(part["bench"])
    assert (goal["id"], goal["verdict"], goal["rounds"]) == ("P0", GOAL_MET, 6)
    assert goal["estimate"] == pytest.approx(1.01)
    assert goal["noise"] == pytest.approx(1.002), "stock differs from itself by more than the patched brokers"
    assert goal["note"].startswith("50,600 s per million records, stock 50,100 s; equal within a factor of 1.05: shown")
    page = render.page(document.build([part], []))
    assert "Processor time of the brokers" in page and '<td class="n">50,600</td>' in page


def test_less_time_for_a_record_is_an_improvement(tmp_path: Path) -> None:
    data = plain_counts.section(_run(tmp_path / "run", cpu_s={**SECONDS, "minisr": 0.8}))
    rows = {row["role"]: row for row in data["processor_time"]["modes"]}
    assert rows["candidate"]["ratio"]["verdict"] == IMPROVED


@pytest.mark.parametrize("seconds", [{"calm": 1.08}, {"again": 1.09}])
def test_nothing_is_shown_where_either_distribution_differs_from_itself_by_more_than_the_floor(
    tmp_path: Path, seconds: dict[str, float]
) -> None:
    goal = _goal(plain_counts.section(_run(tmp_path / "run", cpu_s=SECONDS | seconds)))
    assert goal["verdict"].startswith("not shown: acks=all differs from itself by a factor of 1.08")


def test_a_mode_that_refuses_records_is_not_compared(tmp_path: Path) -> None:
    goal = _goal(plain_counts.section(_run(tmp_path / "run", refuses={"baseline": 0.5})))
    assert goal["verdict"].startswith("not shown: ") and "acknowledged" in goal["verdict"]


def test_a_block_without_an_acknowledgement_costs_more_than_any_other(tmp_path: Path) -> None:
    data = plain_counts.section(_run(tmp_path / "run", refuses={"least": 1.0, "stock": 1.0}))
    rows = {row["role"]: row for row in data["processor_time"]["modes"]}
    assert math.isinf(rows["stock"]["seconds"])


def test_one_block_that_lacks_it_leaves_no_figure(tmp_path: Path) -> None:
    path = _run(tmp_path / "run")
    lines = (path / "events.jsonl").read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if "brokers_cpu_s" in line)
    event = json.loads(lines[number])
    event["data"]["brokers_cpu_s"] = None
    lines[number] = json.dumps(event)
    (path / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
    data = plain_counts.section(path)
    assert data["processor_time"] is None and not [row for row in data["goals"] if row["what"] == WHAT]


def test_no_control_no_verdict(tmp_path: Path) -> None:
    data = plain_counts.section(_run(tmp_path / "run", of_modes={**STOCK, "control": {"role": "again"}}))
    assert _goal(data)["verdict"] == NO_CONTROL


def test_one_ratio_a_trial_beside_the_noise_of_both_distributions(tmp_path: Path) -> None:
    def part(number: int) -> dict[str, Any]:
        return plain_counts.part(_run(tmp_path / f"run-{number}", cpu_s={**SECONDS, "all": 1.01 + number / 1000}))

    parts = [part(n) for n in range(6)]
    goal = _goal(trials.over_trials(parts)[0])
    assert (goal["rounds"], goal["verdict"]) == (6, GOAL_MET)
    assert goal["by_trial"] == pytest.approx([1.01 + n / 1000 for n in range(6)])
    for one in parts:
        one["bench"]["processor_time"]["stock_again"] |= {"estimate": 1.06}
    assert _goal(trials.over_trials(parts)[0])["noise"] == pytest.approx(1.06)
