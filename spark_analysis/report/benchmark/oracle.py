"""Records of every mode beside an ideal quorum for the same records: how much later than it they were answered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analysis.input.ingest import Run
from spark_analysis.report import words
from spark_analysis.report.benchmark.rounds import differences, shifted
from spark_analysis.report.section import Section, rows
from spark_analysis.statistics import counts, label_swap
from spark_analysis.statistics.success import MARGIN
from spark_analysis.statistics.verdict_words import NO_ANSWER, NOT_SHOWN
from spark_analysis.transforms import benchmark, latency, oracle

_NEEDS = ("min.insync.replicas", "min.insync.racks")
_MEASURES = ("ideal_us", "from_send_us", "after_us")
# The ideal must be known for so many of the records: those without one may be the slowest.
MATCHED = 0.99


def against_oracle(
    spark: SparkSession, run: Run, acked: DataFrame, spec: dict[str, Any], saturated: Set[tuple[str, int]]
) -> Section:
    """Per mode: latency from the send, that of the ideal, the difference (the time of the answer after the ideal), and
    that difference beside the baseline's, by round (``apart``, ms). acks=1 waits for no follower: it is skipped.

    An answer before its ideal is an error of the ideal: it is counted, and never moved to 0. ``not_shown`` is the
    verdict where there are more than a few, or where the ideal of too many records is not known. ``saturated`` (role,
    round) saturated the machine and count as the latest.
    """
    quiet = acked.where(F.col("part") == "quiet")
    racks = spark.createDataFrame(
        [(int(broker), rack) for broker, rack in run.manifest["spec"]["broker_racks"].items()],
        "broker int, rack string",
    )
    waiting = [mode for mode in spec["modes"] if mode["acks"] not in ("0", "1")]
    needs = spark.createDataFrame([_needed(mode, spec) for mode in waiting], "role string, m int, k int")
    sent_mono = F.col("due_mono_ns") + F.col("sent_ns") - F.col("due_ns")
    followers = spec["topic"]["replication"] - 1
    ideal = F.when(F.col("m") > 0, oracle.quorum_ns(F.col("m"), F.col("k"))).otherwise(oracle.all_ns(followers))
    known = (
        quiet.where(F.col("offset") >= 0)
        .join(
            oracle.arrivals(quiet.where(F.col("offset") >= 0), run.fetches, racks),
            on=["run", "producer", "seq"],
            how="inner",
        )
        .join(F.broadcast(needs), on="role", how="inner")
        .withColumn("ideal_us", (ideal - sent_mono) / 1000)
        .withColumn("from_send_us", (F.col("done_ns") - F.col("sent_ns")) / 1000)
        .withColumn("after_us", F.col("from_send_us") - F.col("ideal_us"))
        .where(F.col("ideal_us").isNotNull())
        .select(*benchmark.BLOCK, *_MEASURES)
        .cache()
    )
    each = known.unpivot(benchmark.BLOCK, _MEASURES, "measure", "us")
    after = each.where(F.col("measure") == "after_us")
    per_block = rows(latency.quantiles(after, [*benchmark.BLOCK, "measure"], value="us"))
    pooled = rows(latency.quantiles(each, ["mode", "role", "measure"], value="us"))
    histogram = rows(benchmark.histogram(after, ["role", "pair"], "us"))
    totals = {r["role"]: r["records"] for r in rows(quiet.groupBy("role").agg(F.count("*").alias("records")))}
    is_early = F.col("after_us") < 0
    counted = known.groupBy("role").agg(
        F.count("*").alias("matched"),
        F.count(F.when(is_early, 1)).alias("early"),
        F.max(F.when(is_early, -F.col("after_us"))).alias("earliest_us"),
    )
    observed = {r["role"]: r for r in rows(counted)}
    modes = [_mode(mode, pooled, observed.get(mode["role"], {}), totals.get(mode["role"], 0)) for mode in waiting]
    apart = _apart(modes, _by_round(per_block, saturated), _histograms(histogram, saturated))
    data = {"modes": modes, "apart": apart, "not_shown": not_shown(modes)}
    return Section(data, {"oracle": known})


def not_shown(modes: list[dict[str, Any]]) -> str:
    """The verdict where the ideal of the candidate or of the baseline is wrong or not known for too many records."""
    for mode in (m for m in modes if m["role"] in ("candidate", "baseline")):
        if mode["matched"] < MATCHED * mode["records"]:
            known = words.share(mode["matched"], mode["records"])
            return f"{NOT_SHOWN}the ideal is known for {known} of the records of {mode['mode']}"
        if mode["early"] > MARGIN * mode["matched"]:
            return f"{NOT_SHOWN}{early(mode)}"
    return ""


def early(mode: Mapping[str, Any]) -> str:
    """The answers that came before their ideal, as text; empty without any."""
    if not mode["early"]:
        return ""
    by = words.milliseconds(mode["earliest_us"])
    return f"{words.records(mode['early'])} of {mode['mode']} answered before their ideal, by up to {by}"


def _needed(mode: dict[str, Any], spec: dict[str, Any]) -> tuple[str, int, int]:
    """Replicas and racks that an answer waits for, the leader included; 0 replicas: all of them."""
    if mode["acks"] not in ("min.insync.replicas", "-2"):
        return mode["role"], 0, 0
    settings = {**spec["topic"]["settings"], **mode["topic"]}
    replicas, racks = (int(settings.get(name, 1)) for name in _NEEDS)
    return mode["role"], replicas, racks


def _by_round(
    per_block: list[dict[str, Any]], saturated: Set[tuple[str, int]]
) -> dict[tuple[str, float], dict[int, float | None]]:
    """Time after the ideal (µs) by role and quantile, then by round."""
    found: dict[tuple[str, float], dict[int, float | None]] = {}
    for r in per_block:
        late = (r["role"], r["pair"]) in saturated and r["value_us"] is not None
        found.setdefault((r["role"], r["per_thousand"]), {})[r["pair"]] = math.inf if late else r["value_us"]
    return found


def _histograms(
    histogram: list[dict[str, Any]], saturated: Set[tuple[str, int]]
) -> dict[str, dict[int, dict[float, int]]]:
    """Records by role, round and time after the ideal (µs)."""
    found: dict[str, dict[int, dict[float, int]]] = {}
    for r in histogram:
        of_round = found.setdefault(r["role"], {}).setdefault(r["pair"], {})
        value = math.inf if (r["role"], r["pair"]) in saturated else r["value"]
        of_round[value] = of_round.get(value, 0) + r["records"]
    return found


def _apart(
    modes: list[dict[str, Any]],
    by_round: Mapping[tuple[str, float], Mapping[int, float | None]],
    histograms: Mapping[str, label_swap.Histogram],
) -> list[dict[str, Any]]:
    """Of every mode but the baseline how much more its time after the ideal is than the baseline's (ms): by round, or
    where a block does not carry the quantile, of all rounds pooled.
    """
    values = {m["role"]: {row["per_thousand"]: row["after_us"] for row in m["quantiles"]} for m in modes}
    out = []
    for mode in (m for m in modes if m["role"] != "baseline"):
        for q in counts.QUANTILES:
            pooled = [values.get(role, {}).get(q) for role in (mode["role"], "baseline")]
            if pooled[0] is None or pooled[1] is None:
                continue
            mine, others = (by_round[role, q] for role in (mode["role"], "baseline"))
            both = [(mine[r], others[r]) for r in sorted(set(mine) & set(others))]
            known = [(a - b) / 1000 for a, b in both if a is not None and b is not None and not a == b == math.inf]
            if all(a is not None and b is not None for a, b in both):
                row = differences(known, NO_ANSWER if len(known) < len(both) else "")
            else:
                row = shifted(histograms[mode["role"]], histograms["baseline"], q, pooled[0] - pooled[1])
            if row is not None:
                out.append({"role": mode["role"], "mode": mode["mode"], "per_thousand": q, **row})
    return out


def _mode(
    mode: dict[str, Any], pooled: list[dict[str, Any]], observed: Mapping[str, Any], records: int
) -> dict[str, Any]:
    values = {(r["measure"], r["per_thousand"]): r["value_us"] for r in pooled if r["role"] == mode["role"]}
    return {
        "mode": mode["label"],
        "role": mode["role"],
        "records": records,
        "matched": observed.get("matched", 0),
        "early": observed.get("early", 0),
        "earliest_us": observed.get("earliest_us"),
        "quantiles": [
            {"per_thousand": q, **{measure: values.get((measure, q)) for measure in _MEASURES}}
            for q in counts.QUANTILES
        ],
    }
