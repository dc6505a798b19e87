"""Records of every mode against an ideal quorum for the same records."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analysis.input.ingest import Run
from spark_analysis.report.benchmark.rounds import Rounds
from spark_analysis.report.section import Section, rows
from spark_analysis.statistics import counts
from spark_analysis.transforms import benchmark, latency, oracle

_NEEDS = ("min.insync.replicas", "min.insync.racks")


def against_oracle(spark: SparkSession, run: Run, acked: DataFrame, spec: dict[str, Any]) -> Section:
    """Per mode: latency from the send, that of the ideal, the difference (the time of the answer after the ideal), and
    the ratio per round. acks=1 waits for no follower: it is skipped.
    """
    quiet = acked.where(F.col("part") == "quiet")
    racks = spark.createDataFrame(
        [(int(broker), rack) for broker, rack in run.manifest["spec"]["broker_racks"].items()],
        "broker int, rack string",
    )
    needs = spark.createDataFrame([_needed(mode, spec) for mode in spec["modes"]], "role string, m int, k int")
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
        .select(*benchmark.BLOCK, "ideal_us", "from_send_us", "after_us")
        .cache()
    )
    each = known.unpivot(list(benchmark.BLOCK), ["ideal_us", "from_send_us", "after_us"], "measure", "us")
    per_block = rows(latency.quantiles(each, [*benchmark.BLOCK, "measure"], value="us"))
    pooled = rows(latency.quantiles(each, ["mode", "role", "measure"], value="us"))
    histogram = rows(benchmark.histogram(each.where(F.col("us") >= 0), [*benchmark.BLOCK, "measure"], "us"))
    compared = _rounds(per_block, pooled, histogram)
    totals = {r["role"]: r["records"] for r in rows(quiet.groupBy("role").agg(F.count("*").alias("records")))}
    data = {
        "modes": [
            _mode(mode, pooled, compared, totals.get(mode["role"], 0))
            for mode in spec["modes"]
            if mode["acks"] not in ("0", "1")
        ]
    }
    return Section(data, {"oracle": known})


def _needed(mode: dict[str, Any], spec: dict[str, Any]) -> tuple[str, int, int]:
    """Replicas and racks that an answer waits for, the leader included; 0 replicas: all of them."""
    if mode["acks"] not in ("min.insync.replicas", "-2"):
        return mode["role"], 0, 0
    settings = {**spec["topic"]["settings"], **mode["topic"]}
    replicas, racks = (int(settings.get(name, 1)) for name in _NEEDS)
    return mode["role"], replicas, racks


def _rounds(per_block: list[dict[str, Any]], pooled: list[dict[str, Any]], histogram: list[dict[str, Any]]) -> Rounds:
    """Rounds whose variants are the mode's role and the measure."""
    quantiles: dict[Any, Any] = {}
    of_all: dict[Any, Any] = {}
    records: dict[Any, Any] = {}
    for r in per_block:
        of_rounds = quantiles.setdefault((r["role"], r["measure"]), {})
        of_rounds.setdefault(r["pair"], {})[r["per_thousand"]] = r["value_us"]
    for r in pooled:
        of_all.setdefault((r["role"], r["measure"]), {})[r["per_thousand"]] = r["value_us"]
    for r in histogram:
        records.setdefault((r["role"], r["measure"]), {}).setdefault(r["pair"], {})[r["value"]] = r["records"]
    return Rounds(quantiles, of_all, records)


def _mode(mode: dict[str, Any], pooled: list[dict[str, Any]], compared: Rounds, records: int) -> dict[str, Any]:
    role = mode["role"]
    values = {(r["measure"], r["per_thousand"]): r["value_us"] for r in pooled if r["role"] == role}
    known = next((r["n"] for r in pooled if (r["role"], r["measure"]) == (role, "ideal_us")), 0)
    return {
        "mode": mode["label"],
        "role": role,
        "records": records,
        "matched": known,
        "quantiles": [
            {
                "per_thousand": q,
                "from_send_us": values.get(("from_send_us", q)),
                "ideal_us": values.get(("ideal_us", q)),
                "after_us": values.get(("after_us", q)),
                "ratio": compared.ratio((role, "from_send_us"), (role, "ideal_us"), q),
            }
            for q in counts.QUANTILES
        ],
    }
