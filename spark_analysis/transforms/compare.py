"""Two modes against each other: a ratio per pair of neighbouring blocks."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def pair_ratios(block_quantiles: DataFrame) -> DataFrame:
    """Candidate over baseline per run, pair and quantile; null where one block's sample does not carry the quantile.

    ``block_quantiles`` has run, pair, block, mode, role, per_thousand, n, value_us.
    """
    side = ["run", "pair", "per_thousand"]

    def of(role: str) -> DataFrame:
        return block_quantiles.where(F.col("role") == role).select(
            *side, F.col("mode").alias(role), F.col("value_us").alias(f"{role}_us"), F.col("n").alias(f"{role}_n")
        )

    return (
        of("baseline")
        .join(of("candidate"), on=side, how="inner")
        .withColumn("ratio", F.col("candidate_us") / F.col("baseline_us"))
        .select(*side, "baseline", "candidate", "baseline_n", "candidate_n", "baseline_us", "candidate_us", "ratio")
    )
