"""Pooled quantiles and their intervals on histograms whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from spark_analysis.statistics import bootstrap, stats


def blocks(rounds: int, factor: float = 1.0, spread: float = 0.0) -> dict[int, dict[float, int]]:
    """Values 1000 to 1999 once each, times the factor; `spread` moves each round as one."""
    return {r: {(1000 + v) * factor * (1 + spread * (r % 3 - 1)): 1 for v in range(1000)} for r in range(rounds)}


def test_too_few_rounds_carry_no_interval() -> None:
    assert bootstrap.quantile(blocks(5), 500) is None
    assert bootstrap.ratio(blocks(9), blocks(5), 500) is None


@pytest.mark.parametrize("q", [500, 900, 990])
def test_a_quantile_is_that_of_all_blocks_together(q: int) -> None:
    found = bootstrap.quantile(blocks(8, spread=0.1), q)
    assert found is not None
    values = [v for b in blocks(8, spread=0.1).values() for v in b]
    assert found.estimate == pytest.approx(np.quantile(values, q / 1000), rel=0.002)
    assert found.low < found.estimate < found.high


def test_rounds_that_do_not_differ_leave_no_doubt() -> None:
    found = bootstrap.ratio(blocks(6, 0.5), blocks(6), 990)
    assert found is not None
    assert (found.low, found.estimate, found.high) == (0.5, 0.5, 0.5)


def test_both_variants_are_drawn_by_the_same_rounds() -> None:
    """The rounds differ by 10 %, the variants always by half: drawn apart, the ratio would spread."""
    found = bootstrap.ratio(blocks(9, 0.5, spread=0.1), blocks(9, spread=0.1), 500)
    assert found is not None
    assert found.low == pytest.approx(0.5, abs=0.001) and found.high == pytest.approx(0.5, abs=0.001)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    chance, held = np.random.default_rng(5), 0
    for trial in range(100):
        moved = chance.normal(0, 0.1, 10)
        made = {r: {float(v * np.exp(moved[r])): 1 for v in range(100, 200)} for r in range(10)}
        found = bootstrap.quantile(made, 500, seed=trial)
        assert found is not None
        held += found.low <= 150 <= found.high
    assert held >= 80, "ten blocks give a little less than 95 %"


def test_signed_rank_interval_of_plain_values() -> None:
    assert stats.signed_rank([1.0] * 5) is None
    found = stats.signed_rank([0.8, 0.9, 0.85, 0.88, 0.82, 0.95])
    assert found is not None and (found.low, found.high) == (0.8, 0.95)


def test_the_shift_is_the_difference_at_each_quantile() -> None:
    found = bootstrap.shift(blocks(8, 0.5, spread=0.1), blocks(8, spread=0.1), [100, 500, 900])
    assert found is not None
    for row, value in zip(found, (1100, 1500, 1900), strict=True):
        assert row.estimate == pytest.approx(-value / 2, rel=0.03) and row.low < row.estimate < row.high < 0
        assert row.p == pytest.approx(2 / 2001), "no draw lies beyond no difference"
    assert bootstrap.shift(blocks(5), blocks(9), [500]) is None


def test_p_of_two_equal_variants_is_large() -> None:
    found = bootstrap.ratio(blocks(9, spread=0.1), blocks(9, spread=0.1), 500)
    assert found is not None and found.p == 1


def test_the_interval_of_a_ratio_holds_the_truth_about_as_often_as_it_says() -> None:
    held = 0
    for trial in range(100):
        moved = np.random.default_rng(trial).normal(0, 0.1, (2, 10))
        variants = [{r: {float(v * np.exp(m[r])): 1 for v in range(100, 200, 5)} for r in range(10)} for m in moved]
        halved = {r: {v / 2: n for v, n in counts.items()} for r, counts in variants[0].items()}
        found = bootstrap.ratio(halved, variants[1], 500, seed=trial)
        assert found is not None
        held += found.low <= 0.5 <= found.high
    assert held >= 80, "ten blocks give a little less than 95 %"
