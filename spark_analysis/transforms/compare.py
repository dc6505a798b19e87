"""Two modes against each other: a ratio per pair of neighbouring blocks."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def pair_ratios(block_quantiles: DataFrame, *, candidate: str = "candidate", baseline: str = "baseline") -> DataFrame:
    """Candidate over baseline per run, pair and quantile; null where one block's sample does not carry the quantile.

    The two arguments are the roles of the sides.

    ``block_quantiles`` has run, pair, block, mode, role, per_thousand, n, value_us.
    """
    side = ["run", "pair", "per_thousand"]

    def of(role: str, name: str) -> DataFrame:
        return block_quantiles.where(F.col("role") == role).select(
            *side, F.col("mode").alias(name), F.col("value_us").alias(f"{name}_us"), F.col("n").alias(f"{name}_n")
        )

    return (
        of(baseline, "baseline")
        .join(of(candidate, "candidate"), on=side, how="inner")
        .withColumn("ratio", F.col("candidate_us") / F.col("baseline_us"))
        .select(*side, "baseline", "candidate", "baseline_n", "candidate_n", "baseline_us", "candidate_us", "ratio")
    )
