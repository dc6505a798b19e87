"""Ratios of pairs, and the signed-rank interval against enumeration."""

from __future__ import annotations

import itertools
import math

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from spark_analysis import stats
from spark_analysis.transforms import compare

_QUANTILES = "run string, pair int, block int, mode string, role string, per_thousand int, n long, value_us double"


def test_ratio_is_candidate_over_baseline_within_the_pair(spark: SparkSession) -> None:
    rows = [
        ("r", 0, 0, "s", "baseline", 500, 9, 100.0),
        ("r", 0, 1, "n", "candidate", 500, 9, 80.0),
        ("r", 1, 2, "n", "candidate", 500, 9, 300.0),
        ("r", 1, 3, "s", "baseline", 500, 9, 200.0),
        ("r", 0, 0, "s", "baseline", 990, 9, None),
        ("r", 0, 1, "n", "candidate", 990, 9, 7.0),
        ("r", 2, 4, "s", "baseline", 500, 9, 1.0),
    ]
    got = compare.pair_ratios(spark.createDataFrame(rows, _QUANTILES)).select("pair", "per_thousand", "ratio")
    want = [(0, 500, 0.8), (1, 500, 1.5), (0, 990, None)]
    assertDataFrameEqual(got, spark.createDataFrame(want, "pair int, per_thousand int, ratio double"))


def test_fewer_than_six_pairs_carry_no_verdict() -> None:
    result = stats.compare([0.5] * 5)
    assert (result.verdict, result.median, result.low) == ("not enough runs", 0.5, None)
    assert stats.compare([]).median is None


@pytest.mark.parametrize(("factor", "verdict"), [(0.8, "faster"), (1.25, "slower"), (1.0, "no difference shown")])
def test_verdict_follows_the_interval(factor: float, verdict: str) -> None:
    ratios = [factor * x for x in (0.97, 1.02, 0.99, 1.01, 1.03, 0.98)]
    result = stats.compare(ratios)
    assert result.verdict == verdict
    assert result.low is not None and result.high is not None and result.low <= factor <= result.high


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
    result = stats.compare([math.exp(x) for x in logs])
    assert result.low == pytest.approx(math.exp(walsh[cut - 1]))
    assert result.high == pytest.approx(math.exp(walsh[-cut]))
