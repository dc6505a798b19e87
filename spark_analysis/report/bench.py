"""The part of the document about a benchmark: every mode's latency, each against acks=all, and the goals."""

from __future__ import annotations

from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analysis import bootstrap, stats
from spark_analysis.ingest import Run, blocks
from spark_analysis.report import verdicts
from spark_analysis.report.oracle import against_oracle
from spark_analysis.report.outage import Section, rows
from spark_analysis.report.rounds import Rounds, Side, per_round
from spark_analysis.transforms import bench, latency

QUIET, FAULT = "quiet", "fault"
_CURVE = (*range(10, 990, 20), *range(990, 1000))
_AROUND_BEFORE_S = 5.0
_AROUND_BUCKET_NS = 250_000_000


def section(spark: SparkSession, run: Run) -> Section | None:
    """A benchmark run, or None when it has no finished block."""
    windows = blocks(spark, [run]).cache()
    spec = run.manifest["spec"]["workload"]
    inside = latency.in_blocks(run.acks, windows).cache()
    found = _judge_blocks(rows(windows.orderBy("block", "begin_ns")), rows(bench.send_lag(inside)), spec)
    if not found:
        return None
    kept = [(run.id, b["block"], b["part"]) for b in found if not b["void"]]
    good = F.broadcast(spark.createDataFrame(kept, "run string, block int, part string"))
    windows = windows.join(good, on=["run", "block", "part"], how="left_semi")
    acked = latency.acknowledged(inside.join(good, on=["run", "block", "part"], how="left_semi")).cache()
    per_block = latency.quantiles(acked, bench.BLOCK)
    pooled = latency.quantiles(acked, ["run", "mode", "role", "part"])
    curve = latency.quantiles(acked, ["run", "mode", "role", "part"], per_thousand=_CURVE)
    histogram = bench.histogram(acked, bench.BLOCK)
    outcomes = latency.outcomes(inside, ["run", "mode", "role", "part"])
    known = [b["cpu_busy"] for b in found if b["cpu_busy"] is not None]
    in_blocks, together = _sorted(per_block, "block", "part"), _sorted(pooled, "role", "part")
    measured = _measured(in_blocks, together, rows(histogram))
    data: dict[str, Any] = {
        "workload": spec,
        "backend": run.manifest["spec"]["backend"],
        "rtt_ms": run.manifest["spec"]["rtt_ms"],
        "modes": [{**m, "mode": m["label"]} for m in spec["modes"]],
        "blocks": found,
        "void": [b for b in found if b["void"]],
        "cpu_busy": median(known) if known else None,
        "pooled": [_with_interval(row, measured) for row in together],
        "per_block": in_blocks,
        "curve": [r for r in _sorted(curve, "role", "part") if r["value_us"] is not None],
        "outcomes": rows(outcomes.drop("run").orderBy("part", "role", F.desc("records"))),
        "ratios": _ratios(spec["modes"], measured),
    }
    tables = {"bench_block_quantiles": per_block, "bench_histogram": histogram, "bench_outcomes": outcomes}
    data["oracle"] = None
    if not run.fetches.isEmpty():
        ideal = against_oracle(spark, run, acked, spec)
        data["oracle"], tables["bench_oracle"] = ideal.data, ideal.tables["oracle"]
    data["fault"] = _fault(spark, run, spec, windows, acked) if spec["fault"] else None
    data["goals"] = verdicts.goals(data, measured)
    return Section(data, tables)


def _sorted(quantiles: DataFrame, *by: str) -> list[dict[str, Any]]:
    """Rows of quantiles, collected once."""
    found = rows(quantiles.drop("run"))
    return sorted(found, key=lambda r: (*(r[name] for name in by), r["per_thousand"]))


def _judge_blocks(
    found: list[dict[str, Any]], lags: list[dict[str, Any]], spec: dict[str, Any]
) -> list[dict[str, Any]]:
    """Every part of a block with the reasons that make it void, none where it counts."""
    lag = {(r["block"], r["part"]): r for r in lags}
    out = []
    for b in found:
        seen = lag.get((b["block"], b["part"]), {"records": 0, "lag_p99_us": None})
        row = {k: b[k] for k in ("block", "pair", "mode", "role", "part", "cpu_busy", "steal", "isr", "rtt_off")}
        row |= {"seconds": (b["end_ns"] - b["begin_ns"]) / 1e9, **{k: seen[k] for k in ("records", "lag_p99_us")}}
        out.append({**row, "void": _void(row, spec)})
    return out


def _void(row: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    limits, reasons = spec["limits"], []
    if not row["records"]:
        reasons.append("no record was sent")
    elif row["lag_p99_us"] / 1000 > limits["send_lag_p99_ms"]:
        reasons.append(f"the load client was late: send lag p99 {row['lag_p99_us'] / 1000:.1f} ms")
    if row["cpu_busy"] is not None and row["cpu_busy"] > limits["cpu_busy"]:
        reasons.append(f"the processors were {row['cpu_busy']:.0%} busy")
    if row["steal"] is not None and row["steal"] > limits["steal"]:
        reasons.append(f"{row['steal']:.0%} of the processors' time was taken away")
    if row["rtt_off"] is not None and row["rtt_off"] > limits["rtt_off"]:
        reasons.append(f"round-trip times between racks were off by up to {row['rtt_off']:.0%}")
    frozen = spec["fault"] is not None and spec["fault"]["how"] == "pause" and row["part"] == FAULT
    if frozen and row["isr"] is not None and row["isr"] < spec["topic"]["replication"]:
        reasons.append(f"the frozen follower left the in-sync set: {row['isr']} in sync at the end")
    return reasons


def _measured(per_block: list[dict[str, Any]], pooled: list[dict[str, Any]], histogram: list[dict[str, Any]]) -> Rounds:
    quantiles: dict[Side, dict[int, dict[int, float | None]]] = {}
    for r in per_block:
        quantiles.setdefault((r["role"], r["part"]), {}).setdefault(r["pair"], {})[r["per_thousand"]] = r["value_us"]
    whole: dict[Side, dict[int, float | None]] = {}
    for r in pooled:
        whole.setdefault((r["role"], r["part"]), {})[r["per_thousand"]] = r["value_us"]
    counts: dict[Side, dict[int, dict[float, int]]] = {}
    for r in histogram:
        counts.setdefault((r["role"], r["part"]), {}).setdefault(r["pair"], {})[r["value"]] = r["records"]
    return Rounds(quantiles, whole, counts)


def _with_interval(row: dict[str, Any], measured: Rounds) -> dict[str, Any]:
    """A pooled quantile with its bootstrap interval, where the sample carries it and there are enough rounds."""
    found = None
    if row["value_us"] is not None:
        found = bootstrap.quantile(measured.histograms[row["role"], row["part"]], row["per_thousand"])
    return {**row, "low_us": found.low if found else None, "high_us": found.high if found else None}


def _ratios(modes: list[dict[str, Any]], measured: Rounds) -> list[dict[str, Any]]:
    """Every mode against the baseline, in every part and quantile that the sample carries."""
    out = []
    for part in (QUIET, FAULT):
        for mode in modes:
            for q in latency.QUANTILES:
                found = measured.ratio((mode["role"], part), ("baseline", part), q)
                if mode["role"] != "baseline" and found is not None:
                    told = {"mode": mode["label"], "role": mode["role"], "part": part, "per_thousand": q}
                    out.append({**told, **found, "verdict": stats.direction(found["low"], found["high"])})
    return out


def _fault(spark: SparkSession, run: Run, spec: dict[str, Any], windows: DataFrame, acked: DataFrame) -> dict[str, Any]:
    """Longest latency and longest silence of every part, their ratios, and one round of it over time."""
    both = bench.silences(run.acks, windows).join(bench.longest(acked), on=list(bench.BLOCK), how="left")
    parts = rows(both.drop("run").orderBy("block", F.desc("part")))
    new, old = ("candidate", FAULT), ("baseline", FAULT)
    known = [p for p in parts if p["max_us"] is not None]
    return {
        "parts": parts,
        "max_ratio": per_round(known, new, old, lambda p: float(p["max_us"])),
        "silence_ratio": per_round(parts, new, old, lambda p: float(p["silence_s"])),
        "timeline": _timeline(spark, run, spec, rows(windows)),
    }


def _timeline(
    spark: SparkSession, run: Run, spec: dict[str, Any], windows: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """The first round in which every mode's fault counts: latency from shortly before it to shortly after."""
    faults = [w for w in windows if w["part"] == FAULT]
    whole = [
        r for r in sorted({w["pair"] for w in faults}) if sum(w["pair"] == r for w in faults) == len(spec["modes"])
    ]
    if not whole:
        return None
    before, after = int(_AROUND_BEFORE_S * 1e9), int(spec["fault"]["recover"] * 1e9)
    chosen = [
        (run.id, w["producer"], w["role"], w["begin_ns"] - before, w["end_ns"] + after, w["begin_ns"])
        for w in faults
        if w["pair"] == whole[0]
    ]
    schema = "run string, producer string, role string, from_ns long, until_ns long, origin_ns long"
    found = bench.around(run.acks, spark.createDataFrame(chosen, schema), _AROUND_BUCKET_NS)
    return {
        "round": whole[0],
        "bucket_s": _AROUND_BUCKET_NS / 1e9,
        "fault_s": max((w["end_ns"] - w["begin_ns"]) / 1e9 for w in faults if w["pair"] == whole[0]),
        "points": rows(found.drop("run").orderBy("role", "bucket")),
    }
