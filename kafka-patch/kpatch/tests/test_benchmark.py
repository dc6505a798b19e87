"""JMH's results of several rounds, side by side."""

import json
import math
from pathlib import Path

import pytest

from kpatch import benchmark, paths
from kpatch.benchmark import Cell, Round
from kpatch.errors import KpatchError


def _cell(feature: str, ns: float, memory: float = 500.0) -> Cell:
    return Cell("LeaderBenchmark.append", 3, feature, ns, memory)


def test_a_result_of_jmh_is_read() -> None:
    row = {
        "benchmark": "io.rackspan.cluster.LeaderBenchmark.append",
        "params": {"replicas": "3", "feature": "off"},
        "primaryMetric": {"score": 1000.0, "scoreError": "NaN"},
        "secondaryMetrics": {"gc.alloc.rate.norm": {"score": 500.0, "scoreError": "NaN"}},
    }
    assert benchmark.parse(json.dumps([row])) == [_cell("off", 1000.0)]


def test_each_cell_is_beside_stock_of_its_own_round() -> None:
    rounds = [
        Round([_cell("off", 1000.0 * n)], [_cell("off", 1010.0 * n), _cell("on", (1100 + n) * n, 504.0)])
        for n in (1, 3, 2, 5, 4, 6)  # the machine gets slower and faster; what is compared is of one round
    ]
    assert benchmark.table(rounds).splitlines()[2:] == [
        "| append to a leader | 3 | stock | 3,500 | 500.0 | | | | |",
        "| append to a leader | 3 | patched, off | 3,535 | 500.0 | 1.010 | 1.010 to 1.010 | 1.02: met | 0.0 |",
        "| append to a leader | 3 | patched, on | 3,862 | 504.0 | 1.103 | 1.101 to 1.106 | 1.15: met | +4.0 |",
    ]


@pytest.mark.parametrize(
    ("ratios", "reported"),
    [
        ([1.0] * 5, "not enough runs"),
        ([1.0] * 6, "met"),
        ([1.0] * 5 + [1.2], "not shown"),
        ([1.2] * 6, "missed"),
        ([1.0] * 18 + [1.2] * 2, "met"),
        ([1.0] * 14 + [1.2] * 6, "not shown"),
        ([1.2] * 15 + [1.0] * 5, "missed"),
    ],
)
def test_a_bound_is_met_if_the_interval_is_within_it(ratios: list[float], reported: str) -> None:
    assert benchmark.verdict(ratios, 1.15) == reported


@pytest.mark.parametrize("rounds", [6, 8, 9, 12, 20, 31])
def test_the_interval_holds_the_median_in_95_of_100_cases_and_no_narrower_one_does(rounds: int) -> None:
    least, greatest = benchmark.interval([float(i) for i in range(rounds)]) or (0.0, 0.0)
    assert least + greatest == rounds - 1

    def outside(k: int) -> float:  # fewer than k of all rounds are above the median, or below it
        return float(sum(math.comb(rounds, i) for i in range(k)) / 2**rounds * 2)

    k = int(least) + 1
    assert outside(k) <= 0.05 < outside(k + 1)


def test_a_choice_of_cells_is_not_one_for_stock() -> None:
    chosen = ["-p", "replicas=3", "-p", "feature=off,set", "-wi", "1", "Leader"]
    assert benchmark.without_feature(chosen) == ["-p", "replicas=3", "-wi", "1", "Leader"]


def test_the_published_rows_follow_from_the_rounds_beside_the_page() -> None:
    results = paths.PROJECT / "docs" / "results"
    rounds = benchmark.read_rounds((results / "steps" / "fetch-moved.json").read_text())
    rows = benchmark.table(rounds).splitlines()[2:]
    assert len(rows) == 8 and set(rows) <= set((results / "performance.md").read_text().splitlines())


def test_what_was_not_measured_on_stock_has_no_row() -> None:
    assert len(benchmark.table([Round([], [_cell("on", 1100.0)])]).splitlines()) == 2


def test_no_round_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KpatchError, match="nothing to measure") as e:
        benchmark.run(tmp_path, tmp_path, tmp_path, [], 0)
    assert "0 rounds are requested" in str(e.value)
