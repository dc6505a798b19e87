"""Ratios and shifts of pooled quantiles with known answers, and how often their intervals hold them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spark_analysis.statistics import label_swap
from spark_analysis.statistics.label_swap import Histogram
from spark_analysis.statistics.stats import ALPHA

COUNT = 300


def blocks(rounds: int, factor: float = 1.0, spread: float = 0.0) -> Histogram:
    """Values 1000 to 1999 once each, times the factor; `spread` moves each round as one."""
    return {r: {(1000 + v) * factor * (1 + spread * (r % 3 - 1)): 1 for v in range(1000)} for r in range(rounds)}


def drawn(chance: np.random.Generator, rounds: int, stalls: float) -> tuple[Histogram, Histogram]:
    """Two variants that are alike: each round has its own speed, each block its own part of that, and some blocks a
    stall in which a fiftieth of the records are late.
    """
    made: tuple[dict[int, dict[float, int]], dict[int, dict[float, int]]] = ({}, {})
    for r, speed in enumerate(chance.normal(0, 0.2, rounds)):
        for variant in made:
            values = 1000 * np.exp(speed + chance.normal(0, 0.05) + chance.normal(0, 0.4, 300))
            if chance.random() < stalls:
                values[: len(values) // 50] += chance.uniform(20_000, 90_000)
            kept, often = np.unique(np.round(values, -1), return_counts=True)
            variant[r] = dict(zip(kept.tolist(), often.tolist(), strict=True))
    return made


def test_too_few_rounds_carry_no_interval() -> None:
    assert label_swap.ratio(blocks(9), blocks(5), 500) is None
    assert label_swap.shift(blocks(5), blocks(9), [500]) is None


@pytest.mark.parametrize("rounds", [6, 12, 16])
def test_rounds_that_do_not_differ_leave_no_doubt(rounds: int) -> None:
    found = label_swap.ratio(blocks(rounds, 0.5), blocks(rounds), 990)
    assert found is not None and found.p == label_swap.least_p(rounds)
    assert [found.low, found.estimate, found.high] == pytest.approx([0.5] * 3, rel=1e-6)


def test_what_the_rounds_have_in_common_does_not_widen_the_interval() -> None:
    """The rounds differ by 10 %, the variants always by half."""
    found = label_swap.ratio(blocks(9, 0.5, spread=0.1), blocks(9, spread=0.1), 500)
    assert found is not None
    assert found.low == pytest.approx(0.5, abs=0.001) and found.high == pytest.approx(0.5, abs=0.001)


def test_two_equal_variants_do_not_differ() -> None:
    found = label_swap.ratio(blocks(9, spread=0.1), blocks(9, spread=0.1), 500)
    assert found is not None and (found.p, found.estimate) == (1, 1) and found.low <= 1 <= found.high


@pytest.mark.parametrize("q", [500, 900, 990])
def test_p_is_the_share_of_all_swaps(q: int) -> None:
    ours, theirs = drawn(np.random.default_rng(q), 6, 0.3)
    values = [[np.repeat(list(b), list(b.values())) for b in variant.values()] for variant in (ours, theirs)]

    def difference(swapped: tuple[int, ...]) -> float:
        pools = [np.concatenate([values[of ^ s][r] for r, s in enumerate(swapped)]) for of in (0, 1)]
        first, second = (np.quantile(pool, q / 1000, method="inverted_cdf") for pool in pools)
        return abs(float(np.log(first / second)))

    observed = difference((0,) * 6)
    every = [difference(swapped) for swapped in itertools.product((0, 1), repeat=6)]
    found = label_swap.ratio(ours, theirs, q)
    assert found is not None and found.p == pytest.approx(sum(d >= observed * (1 - 1e-9) for d in every) / 64)


def test_the_shift_is_the_difference_at_each_quantile() -> None:
    found = label_swap.shift(blocks(8, 0.5, spread=0.1), blocks(8, spread=0.1), [100, 500, 900])
    assert found is not None
    for row, value in zip(found, (1100, 1500, 1900), strict=True):
        assert row.estimate == pytest.approx(-value / 2, rel=0.03) and row.low < row.estimate < row.high < 0
        assert row.p == label_swap.least_p(8)


@pytest.mark.parametrize(("rounds", "stalls"), [*itertools.product((6, 7, 10, 16), (0.0, 0.3))])
def test_the_interval_of_alike_variants_holds_no_difference_as_often_as_it_says(rounds: int, stalls: float) -> None:
    """It holds 1 unless the test of no difference rejects it."""
    chance, held = np.random.default_rng(rounds), {500: 0, 990: 0}
    for _ in range(COUNT):
        pair = label_swap.pair_of(*drawn(chance, rounds, stalls))
        assert pair is not None
        for q in held:
            held[q] += label_swap.Factor(pair, q).p(0) > ALPHA
    assert min(held.values()) >= 0.93 * COUNT, held
    assert max(held.values()) < COUNT, "a test that never rejects is none"


def test_the_interval_of_a_ratio_holds_what_is_not_rejected() -> None:
    chance, held = np.random.default_rng(3), 0
    for _ in range(100):
        ours, theirs = drawn(chance, 8, 0.3)
        halved = {r: {v / 2: n for v, n in block.items()} for r, block in ours.items()}
        found, pair = label_swap.ratio(halved, theirs, 500), label_swap.pair_of(ours, theirs)
        assert found is not None and pair is not None
        kept = label_swap.Factor(pair, 500).p(0) > ALPHA
        assert found.low <= 0.5 <= found.high or not kept
        held += kept
    assert 90 <= held < 100
