"""The latency part of the document: quantiles per block and pooled, and the paired comparison."""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_analysis import stats
from spark_analysis.ingest import Run, blocks
from spark_analysis.report.outage import Section, rows
from spark_analysis.transforms import compare, latency

# Fine enough for a smooth curve on the nines axis; what the sample does not carry is null and is not drawn.
_CURVE = (*range(10, 990, 20), *range(990, 1000))
NOT_ENOUGH_SAMPLES = "not enough samples"


def section(spark: SparkSession, run: Run) -> Section | None:
    """Latency by mode of one run, or None when the run has no blocks."""
    windows = blocks(spark, [run])
    found = rows(windows.orderBy("block"))
    if not found:
        return None
    inside = latency.in_blocks(run.acks, windows).cache()
    acked = latency.acknowledged(inside).cache()
    per_block = latency.quantiles(acked, ["run", "block", "pair", "mode", "role"])
    pooled = latency.quantiles(acked, ["run", "mode", "role"])
    lag = latency.quantiles(acked, ["run", "mode", "role"], value="lag_us")
    curve = latency.quantiles(acked, ["run", "mode", "role"], per_thousand=_CURVE)
    outcomes = latency.outcomes(inside, ["run", "mode", "role"])
    ratios = compare.pair_ratios(per_block)
    data: dict[str, Any] = {
        "blocks": [
            {
                **{k: b[k] for k in ("block", "pair", "mode", "role", "cpu_busy")},
                "seconds": (b["end_ns"] - b["begin_ns"]) / 1e9,
            }
            for b in found
        ],
        "per_block": rows(per_block.drop("run").orderBy("block", "per_thousand")),
        "pooled": rows(pooled.drop("run").orderBy("role", "per_thousand")),
        "send_lag": rows(lag.drop("run").orderBy("role", "per_thousand")),
        "curve": rows(curve.where(F.col("value_us").isNotNull()).drop("run").orderBy("role", "per_thousand")),
        "outcomes": rows(outcomes.drop("run").orderBy("role", F.desc("records"))),
        "ratios": rows(ratios.drop("run").orderBy("per_thousand", "pair")),
    }
    known = [b["cpu_busy"] for b in found if b["cpu_busy"] is not None]
    data["cpu_busy"] = median(known) if known else None
    data["comparison"] = [_compared(q, data["ratios"]) for q in latency.QUANTILES]
    tables = {
        "block_quantiles": per_block,
        "pooled_quantiles": pooled,
        "pair_ratios": ratios,
        "block_outcomes": outcomes,
    }
    return Section(data, tables)


def _compared(per_thousand: int, ratios: list[dict[str, Any]]) -> dict[str, Any]:
    """One quantile over all pairs; a quantile that any block lacks is not compared."""
    here = [r for r in ratios if r["per_thousand"] == per_thousand]
    known = [r["ratio"] for r in here if r["ratio"] is not None]
    result = stats.compare(known if len(known) == len(here) else [])
    verdict = result.verdict if len(known) == len(here) else NOT_ENOUGH_SAMPLES
    return {"per_thousand": per_thousand, **asdict(result), "pairs": len(here), "verdict": verdict}
