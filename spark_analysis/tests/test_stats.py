"""Intervals and tests against enumeration, scipy and simulated rounds with a known ratio."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from spark_analysis.report import words
from spark_analysis.statistics import stats


def test_fewer_than_six_rounds_carry_no_interval_and_no_verdict() -> None:
    five = [0.5] * 5
    assert not any((stats.signed_rank_ratio(five), stats.signed_rank_p(five), stats.equivalence(five, 1.1)))
    assert stats.verdict(None, None, 1.0) == stats.verdict(None, None, None) == "not enough runs"


@pytest.mark.parametrize(("factor", "verdict"), [(0.8, "improved"), (1.25, "regressed"), (1.0, "within noise")])
def test_verdict_follows_the_interval(factor: float, verdict: str) -> None:
    found = stats.signed_rank_ratio([factor * x for x in (0.97, 1.02, 0.99, 1.01, 1.03, 0.98)])
    assert found is not None and found.low <= factor <= found.high
    assert stats.verdict(found.low, found.high, 1.0) == verdict
    assert stats.verdict(found.low, found.high, noise=1.4) == "within noise"
    assert stats.verdict(found.low, found.high, noise=None) == "not shown: no control"


def test_noise_is_the_farther_end_of_what_a_mode_differs_from_itself_by() -> None:
    assert stats.noise_factor(0.8, 1.1) == pytest.approx(1.25)
    assert stats.noise_factor(0.95, 1.1) == pytest.approx(1.1)
    assert stats.noise_factor(None, None) is None
    assert stats.verdict(0.85, 0.9, noise=1.25) == "within noise" and stats.verdict(0.7, 0.79, noise=1.25) == "improved"


def rounds(seed: int, n: int, middle: float, spread: float = 0.1) -> list[float]:
    return [math.exp(v) for v in np.random.default_rng(seed).normal(math.log(middle), spread, n)]


@pytest.mark.parametrize(("seed", "n"), [(1, 6), (2, 10), (3, 17)])
def test_p_is_that_of_scipy_and_agrees_with_the_interval(seed: int, n: int) -> None:
    ratios = rounds(seed, n, 0.93)
    want = scipy.stats.wilcoxon(np.log(ratios), method="exact").pvalue
    found, p = stats.signed_rank_ratio(ratios), stats.signed_rank_p(ratios)
    assert found is not None and p is not None and p == pytest.approx(want)
    assert (p <= 0.05) == (not found.low <= 1 <= found.high)


def test_p_of_rounds_that_do_not_differ_is_that_of_all_sign_patterns() -> None:
    assert stats.signed_rank_p([0.5] * 6) == pytest.approx(2 / 64)
    assert stats.signed_rank_p([1.0] * 6) == stats.signed_rank_p([1.0] * 5 + [1.2]) == 1
    equal = stats.equivalence([1.05] * 5 + [1.2], 1.05)
    assert equal is not None and not equal.shown


@pytest.mark.parametrize("seed", range(8))
def test_equivalence_is_the_interval_inside_the_margin(seed: int) -> None:
    ratios = rounds(seed, 10, 1.03, 0.04)
    found, equal = stats.signed_rank_ratio(ratios), stats.equivalence(ratios, 1.06)
    assert found is not None and equal is not None
    assert equal.shown == (found.low > 1 / 1.06 and found.high < 1.06)
    logs = np.log(ratios)
    want = [
        scipy.stats.wilcoxon(logs + s * math.log(1.06), alternative=a).pvalue for s, a in ((1, "greater"), (-1, "less"))
    ]
    assert equal.p == pytest.approx(max(want))


def test_equivalence_needs_a_margin() -> None:
    with pytest.raises(ValueError, match=r"a factor above 1, not 0\.9"):
        stats.equivalence([1.0] * 6, 0.9)


def test_a_regression_is_shown_equal_about_as_seldom_as_promised() -> None:
    """Rounds that truly sit on the margin: equal within it may be shown in at most 2.5 % of the cases."""
    shown = 0
    for seed in range(400):
        equal = stats.equivalence(rounds(seed, 10, 1.05, 0.02), 1.05)
        shown += equal is not None and equal.shown
    assert shown <= 20


def test_the_interval_holds_the_true_ratio_as_often_as_it_says() -> None:
    held = 0
    for seed in range(400):
        found = stats.signed_rank_ratio(rounds(seed, 8, 0.6, 0.2))
        assert found is not None
        held += found.low <= 0.6 <= found.high
    assert 370 <= held <= 398, "at least 95 %, and not for being endless"


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # the example of Holm's steps, by hand
        ([0.5, 0.6], [1.0, 1.0]),
        ([], []),
    ],
)
def test_holm_adjusts_the_p_values_of_a_family(given: list[float], want: list[float]) -> None:
    assert stats.holm(given) == pytest.approx(want)


@pytest.mark.parametrize("n", [6, 7, 8, 10])
def test_interval_is_the_widest_signed_rank_allows(n: int) -> None:
    """Against enumeration of all sign patterns: the largest cut whose two tails stay within 5 %."""
    sums = [
        sum(r for r, s in zip(range(1, n + 1), signs, strict=True) if s)
        for signs in itertools.product((0, 1), repeat=n)
    ]
    cut = max(c for c in range(n * n) if sum(w < c for w in sums) / len(sums) <= 0.025)
    logs = [0.1 * i + 0.01 * i * i for i in range(n)]
    walsh = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
    result = stats.signed_rank_ratio([math.exp(x) for x in logs])
    assert result is not None
    assert result.low == pytest.approx(math.exp(walsh[cut - 1]))
    assert result.high == pytest.approx(math.exp(walsh[-cut]))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (1.0, "1.000"), (0.3534, "0.353"), (0.0154, "0.015"), (0.000075, "0.000075"), (0.0, "0")],
)
def test_a_ratio_is_reported_without_an_exponent(value: float | None, text: str) -> None:
    assert words.number(value) == text


def test_a_ratio_that_the_values_beside_it_contradict_says_what_it_is_made_of() -> None:
    row = {"estimate": 0.873, "by_round": [0.9, 0.8, 0.873, 1.4]}
    assert words.made_of(row, 13_200, 12_700) == " (the middle of the rounds' ratios 0.80, 0.87, 0.90, 1.40)"
    assert words.made_of({**row, "estimate": 0.98}, 1010, 1000).startswith(" (the middle")
    assert words.made_of(row, 873, 1000) == words.made_of(row, 880, 1000) == ""
    assert words.made_of({**row, "by_round": []}, 13_200, 12_700) == "", "pooled: the ratio is that of the values"
    assert words.made_of(row, math.inf, 1000) == words.made_of(row, None, 1000) == ""
