"""The signed-rank interval against enumeration."""

from __future__ import annotations

import itertools
import math

import pytest

from spark_analysis import stats


def test_fewer_than_six_rounds_carry_no_interval_and_no_verdict() -> None:
    assert stats.signed_rank_ratio([0.5] * 5) is None
    assert stats.direction(None, None) == "not enough runs"


@pytest.mark.parametrize(("factor", "verdict"), [(0.8, "faster"), (1.25, "slower"), (1.0, "no difference shown")])
def test_verdict_follows_the_interval(factor: float, verdict: str) -> None:
    found = stats.signed_rank_ratio([factor * x for x in (0.97, 1.02, 0.99, 1.01, 1.03, 0.98)])
    assert found is not None and found.low <= factor <= found.high
    assert stats.direction(found.low, found.high) == verdict


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
