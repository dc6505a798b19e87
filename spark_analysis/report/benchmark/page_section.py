"""The part of the document about a benchmark: latency of every mode, comparison with the baseline, and goals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analysis.input.clocks import producer_clocks
from spark_analysis.input.ingest import Run, blocks, finished_blocks, read_table
from spark_analysis.report import times
from spark_analysis.report.benchmark import knee, verdicts
from spark_analysis.report.benchmark.blocks import FAULT, counted, evaluate_blocks, selected, slowest
from spark_analysis.report.benchmark.comparison import compared, noises, shifts
from spark_analysis.report.benchmark.oracle import against_oracle
from spark_analysis.report.benchmark.plan import against_plan
from spark_analysis.report.benchmark.rounds import Rounds, Variant, per_round
from spark_analysis.report.section import Section, rows
from spark_analysis.statistics import counts, histograms
from spark_analysis.statistics.counts import RECORDS, VALUE
from spark_analysis.statistics.success import Success
from spark_analysis.transforms import benchmark, end_to_end, latency
from spark_analysis.transforms.clock import CLOCK_OBSERVED

QUIET = "quiet"
# So many records and every microsecond is a value of its own; beyond, values are buckets of 0.4 %.
EXACT_UP_TO = 2_000_000
# Quantiles up to here have their column even where no sample carries them.
ALWAYS_SHOWN = 999
_VARIANT = ["mode", "role", "part"]
_BLOCK = ["block", "pair", *_VARIANT]
_QUANTILE_ROWS = pa.schema(
    [
        *((name, pa.int32()) for name in ("block", "pair")),
        *((name, pa.string()) for name in _VARIANT),
        ("per_thousand", pa.float64()),
        ("n", pa.int64()),
        ("value_us", pa.float64()),
    ]
)
_CURVE = (*range(10, 990, 20), *range(990, 1000), *(999 + n / 10 for n in range(1, 10)))
_AROUND_BEFORE_S = 5.0
_AROUND_BUCKET_NS = 250_000_000


def section(spark: SparkSession, run: Run) -> Section | None:
    """A benchmark run, or None when it has no finished block."""
    windows = blocks(spark, [run]).cache()
    spec = run.manifest["spec"]["workload"]
    inside = latency.in_blocks(run.acks, windows)
    few = run.folder.rows["acks"] <= EXACT_UP_TO
    if few:
        inside = inside.cache()
    known = sorted(finished_blocks(run), key=lambda b: (b["block"], b["begin_mono_ns"]))
    kept = histograms.of(run.folder.path)
    if kept is None:
        latencies, lags = _record_counts(run, known, inside, exact=few)
    else:
        latencies, lags = histograms.latencies(kept), histograms.send_lag(kept)
    found = evaluate_blocks(known, counts.send_lags(lags), spec)
    if not found:
        return None
    sent = _named(latencies, found)
    valid = sent.filter(~pc.field("invalid"))
    acked = counts.with_unanswered(valid).select([*_BLOCK, VALUE, RECORDS, "max_us"])
    acked = slowest(acked, found, [VALUE, "max_us"])
    succeeded = _success(valid, spec["modes"], _overwritten(run, known) if few else {})
    together = counts.quantiles(acked, _VARIANT)
    deepest = max((r["per_thousand"] for r in together if r["value_us"] is not None), default=0)
    together = [r for r in together if r["per_thousand"] <= max(deepest, ALWAYS_SHOWN)]
    in_blocks = counts.quantiles(acked, _BLOCK)
    histogram = counts.bucketed(acked).group_by([*_BLOCK, VALUE], use_threads=False).aggregate([(RECORDS, "sum")])
    histogram = histogram.rename_columns([*_BLOCK, VALUE, RECORDS])
    outcomes = sent.group_by([*_VARIANT, "outcome", "cause"], use_threads=False).aggregate([(RECORDS, "sum")])
    outcomes = outcomes.rename_columns([*_VARIANT, "outcome", "cause", RECORDS])
    busy = [b["cpu_busy"] for b in found if b["cpu_busy"] is not None]
    plan = against_plan(run.manifest["plan"], spec, found)
    selection = selected(found, spec["modes"])
    measured = _measured(in_blocks, together, histogram, succeeded)
    measured = replace(measured, selected=selection, off_plan=plan["not_shown"])
    noise = noises(measured)
    data: dict[str, Any] = {
        "workload": spec,
        "backend": run.manifest["spec"]["backend"],
        "rtt_ms": run.manifest["spec"]["rtt_ms"],
        "modes": [{**m, "mode": m["label"]} for m in spec["modes"]],
        "blocks": found,
        "invalid": [b for b in found if b["invalid"]],
        "selected": counted(selection),
        "plan": plan,
        "cpu_busy": median(busy) if busy else None,
        "exact": few and kept is None,
        "quantiles": sorted({r["per_thousand"] for r in together}),
        "pooled": _with_rounds(together, measured),
        "per_block": in_blocks,
        "curve": [r for r in counts.quantiles(acked, _VARIANT, _CURVE) if counts.is_answered(r["value_us"])],
        "success": _shown(succeeded),
        "shift": shifts(spec["modes"], measured),
        "outcomes": outcomes.sort_by(
            [("part", "ascending"), ("role", "ascending"), (RECORDS, "descending")]
        ).to_pylist(),
        "noise": noise,
        "ratios": compared(spec["modes"], measured, noise, plan["endpoints"]),
    }
    tables: dict[str, DataFrame | pa.Table] = {
        "bench_block_quantiles": _table(run, pa.Table.from_pylist(in_blocks, _QUANTILE_ROWS)),
        "bench_histogram": _table(run, histogram),
        "bench_outcomes": _table(run, outcomes),
    }
    counting = [(run.id, b["block"], b["part"]) for b in found if not b["invalid"]]
    good = F.broadcast(spark.createDataFrame(counting, "run string, block int, part string"))
    data["oracle"] = None
    if run.folder.rows["fetches"]:
        of_blocks = latency.acknowledged(inside.join(good, on=["run", "block", "part"], how="left_semi"))
        itself = {(b["role"], b["pair"]) for b in found if b["saturated"] and b["part"] == QUIET}
        ideal = against_oracle(spark, run, of_blocks, spec, itself)
        data["oracle"], tables["bench_oracle"] = ideal.data, ideal.tables["oracle"]
    data["fault"] = None
    if spec["fault"]:
        windows = windows.join(good, on=["run", "block", "part"], how="left_semi")
        data["fault"] = _fault(spark, run, spec, windows, acked, measured, found)
    data["end_to_end"] = (
        _end_to_end(spark, run, inside, kept, sent, found, spec["modes"], measured, plan["endpoints"])
        if spec.get("consume")
        else None
    )
    steps = knee.steps(run.events, data["invalid"]) if spec.get("ramp") else []
    data["knee"] = knee.knee(spec["modes"], steps, selection, plan["not_shown"]) if spec.get("ramp") else None
    data["goals"] = verdicts.goals(data, measured)
    return Section(data, tables)


def _end_to_end(
    spark: SparkSession,
    run: Run,
    inside: DataFrame,
    kept: pa.Table | None,
    sent: pa.Table,
    found: list[dict[str, Any]],
    modes: list[dict[str, Any]],
    acked: Rounds,
    endpoints: list[dict[str, Any]],
) -> dict[str, Any]:
    """Latency from due until received by a consumer, infinite for records of ``sent`` that none received: per mode and
    quantile, and each mode against the baseline.
    """
    if kept is None:
        polls = read_table(spark, run.folder.path, "polls").withColumn("run", F.lit(run.id))
        consumed = end_to_end.counted(inside, polls).toArrow()
    else:
        consumed = histograms.end_to_end(kept)
    received = _named(consumed, found)
    observed = counts.with_missing(received.select([*_BLOCK, "invalid", VALUE, RECORDS]), sent, [*_BLOCK, "invalid"])
    observed = observed.filter(~pc.field("invalid")).select([*_BLOCK, VALUE, RECORDS])
    succeeded = _consumed(observed, modes)
    observed = slowest(observed, found, [VALUE])
    together = counts.quantiles(observed, _VARIANT)
    histogram = counts.bucketed(observed).group_by([*_BLOCK, VALUE], use_threads=False).aggregate([(RECORDS, "sum")])
    histogram = histogram.rename_columns([*_BLOCK, VALUE, RECORDS])
    measured = _measured(counts.quantiles(observed, _BLOCK), together, histogram, succeeded)
    measured = replace(measured, selected=acked.selected, off_plan=acked.off_plan)
    noise = noises(measured)
    return {
        "noise": noise,
        "success": _shown(measured.success),
        "pooled": _with_rounds([r for r in together if r["value_us"] is not None], measured),
        "ratios": compared(modes, measured, noise, endpoints),
    }


def _record_counts(
    run: Run, known: list[dict[str, Any]], inside: DataFrame, *, exact: bool
) -> tuple[pa.Table, pa.Table]:
    """Counts of latencies, as histograms.latencies gives them, and of send lags with their quarters. Raises
    AnalysisError if the times of records in blocks cannot be trusted.
    """
    table = benchmark.record_counts(inside, exact=exact).toArrow()
    latencies, lags = (table.filter(pc.field("measure") == name) for name in (benchmark.LATENCY, benchmark.SEND_LAG))
    of = {b["block"]: b["producer"] for b in known}
    producers = pa.table({"block": pa.array(of, pa.int32()), "producer": list(of.values())})
    observed = lags.join(producers, "block").group_by("producer")
    observed = observed.aggregate(list(zip(CLOCK_OBSERVED, ("sum", "min", "max"), strict=True)))
    rows_of = observed.rename_columns(["producer", *CLOCK_OBSERVED]).to_pylist()
    times.evaluate(
        run.folder.path,
        rows_of,
        run.manifest["clock"],
        set(of.values()) - set(producer_clocks(run.events).elsewhere_ahead_ns),
    )
    latencies = latencies.drop_columns(["measure", "quarter", *CLOCK_OBSERVED])
    return latencies, lags.select(["block", "part", "quarter", VALUE, RECORDS])


def _named(counted: pa.Table, found: list[dict[str, Any]]) -> pa.Table:
    """Counts with the names of their blocks, and a column that marks invalid ones."""
    names = [{k: b[k] for k in _BLOCK} | {"invalid": bool(b["invalid"])} for b in found]
    schema = pa.schema([*((k, _QUANTILE_ROWS.field(k).type) for k in _BLOCK), ("invalid", pa.bool_())])
    return counted.join(pa.Table.from_pylist(names, schema), ["block", "part"], join_type="inner")


def _table(run: Run, table: pa.Table) -> pa.Table:
    return table.add_column(0, "run", pa.array([run.id] * table.num_rows, pa.string()))


def _overwritten(run: Run, known: list[dict[str, Any]]) -> dict[str, int]:
    """Acknowledged records of each role that were lost, as far as the places of others show it."""
    lost = {row["producer"]: row["lost"] for row in rows(benchmark.overwritten(run.acks))}
    return {b["role"]: lost[b["producer"]] for b in known if b["producer"] in lost} if lost else {}


def _success(valid: pa.Table, modes: list[dict[str, Any]], lost: Mapping[str, int]) -> dict[Variant, Success]:
    """Of each mode and part the records that were due and those that were acknowledged; lost ones by role."""
    answered = pc.if_else(pc.equal(valid["outcome"], "OK"), valid[RECORDS], 0)
    return _rates(valid.append_column("answered", answered), modes, lost=lost)


def _consumed(observed: pa.Table, modes: list[dict[str, Any]]) -> dict[Variant, Success]:
    """The same of records that a consumer received."""
    answered = pc.if_else(pc.is_finite(observed[VALUE]), observed[RECORDS], 0)
    return _rates(observed.append_column("answered", answered), modes, done="consumed")


def _rates(
    table: pa.Table, modes: list[dict[str, Any]], *, done: str = "acknowledged", lost: Mapping[str, int] | None = None
) -> dict[Variant, Success]:
    """By role and part; ``table`` has the columns of blocks, records and answered."""
    totals = table.group_by(["role", "part"]).aggregate([(RECORDS, "sum"), ("answered", "sum")]).to_pylist()
    found = {}
    for mode in modes:
        for row in sorted((r for r in totals if r["role"] == mode["role"]), key=lambda r: -len(r["part"])):
            label = mode["label"] + (" during the fault" if row["part"] == FAULT else "")
            numbers = int(row[f"{RECORDS}_sum"]), int(row["answered_sum"]), (lost or {}).get(mode["role"], 0)
            found[mode["role"], row["part"]] = Success(label, *numbers, done)
    return found


def _shown(success: Mapping[Variant, Success]) -> list[dict[str, Any]]:
    return [
        {"role": role, "part": part, "mode": of.label, "records": of.records, "answered": of.answered}
        | {"rate": of.rate, "lost": of.lost, "percent": of.percent}
        for (role, part), of in success.items()
    ]


def _measured(
    per_block: list[dict[str, Any]],
    pooled: list[dict[str, Any]],
    histogram: pa.Table,
    success: Mapping[Variant, Success],
) -> Rounds:
    quantiles: dict[Variant, dict[int, dict[float, float | None]]] = {}
    for r in per_block:
        quantiles.setdefault((r["role"], r["part"]), {}).setdefault(r["pair"], {})[r["per_thousand"]] = r["value_us"]
    of_all: dict[Variant, dict[float, float | None]] = {}
    for r in pooled:
        of_all.setdefault((r["role"], r["part"]), {})[r["per_thousand"]] = r["value_us"]
    each: dict[Variant, dict[int, dict[float, int]]] = {}
    for key, values, often in counts.groups(histogram, ["role", "part", "pair"]):
        of_round = dict(zip(values.tolist(), often.astype(int).tolist(), strict=True))
        each.setdefault((key["role"], key["part"]), {})[key["pair"]] = of_round
    return Rounds(quantiles, of_all, each, success)


def _with_rounds(pooled: list[dict[str, Any]], measured: Rounds) -> list[dict[str, Any]]:
    """Pooled quantiles with the lowest and the highest round, where each round carries the quantile by itself."""
    out = []
    for row in pooled:
        rounds = measured.quantiles.get((row["role"], row["part"]), {}).values()
        each = [of_round[row["per_thousand"]] for of_round in rounds]
        known = [v for v in each if v is not None]
        ends = (min(known), max(known)) if known and len(known) == len(each) else (None, None)
        mine = measured.selected.get((row["role"], row["part"]))
        itself = bool(mine and mine.saturated)
        out.append({**row, "low_us": ends[0], "high_us": ends[1], "saturated": itself})
    return out


def _fault(
    spark: SparkSession,
    run: Run,
    spec: dict[str, Any],
    windows: DataFrame,
    acked: pa.Table,
    measured: Rounds,
    found: list[dict[str, Any]],
) -> dict[str, Any]:
    """Longest latency, infinite with a record that had no answer, and longest silence of every part, their ratios, and
    one round of it over time.
    """
    longest = acked.group_by(["block", "part"]).aggregate([("max_us", "max")]).to_pylist()
    max_us = {(r["block"], r["part"]): r["max_us_max"] for r in longest}
    parts = rows(benchmark.silences(run.acks, windows).drop("run").orderBy("block", F.desc("part")))
    parts = [{**p, "max_us": max_us.get((p["block"], p["part"]))} for p in parts]
    itself = {(b["block"], b["part"]) for b in found if b["saturated"]}
    parts = [{**p, "saturated": (p["block"], p["part"]) in itself} for p in parts]
    parts = [{**p, "silence_s": math.inf} if p["saturated"] else p for p in parts]
    new, old, again = ("candidate", FAULT), ("baseline", FAULT), ("control", FAULT)
    equal = measured.not_shown(new, old), measured.not_shown(again, old)
    return {
        "parts": parts,
        "max_ratio": per_round(parts, new, old, _max_us, equal[0]),
        "max_again": per_round(parts, again, old, _max_us, equal[1]),
        "silence_ratio": per_round(parts, new, old, _silence_s, equal[0]),
        "silence_again": per_round(parts, again, old, _silence_s, equal[1]),
        "timeline": _timeline(spark, run, spec, rows(windows)),
    }


def _max_us(part: dict[str, Any]) -> float:
    return float(part["max_us"])


def _silence_s(part: dict[str, Any]) -> float:
    return float(part["silence_s"])


def _timeline(
    spark: SparkSession, run: Run, spec: dict[str, Any], windows: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """The first round in which every mode's fault counts: latency from shortly before it to shortly after."""
    faults = [w for w in windows if w["part"] == FAULT]
    full = [r for r in sorted({w["pair"] for w in faults}) if sum(w["pair"] == r for w in faults) == len(spec["modes"])]
    if not full:
        return None
    before, after = int(_AROUND_BEFORE_S * 1e9), int(spec["fault"]["recover"] * 1e9)
    chosen = [
        (run.id, w["producer"], w["role"], w["begin_mono_ns"] - before, w["end_mono_ns"] + after, w["begin_mono_ns"])
        for w in faults
        if w["pair"] == full[0]
    ]
    schema = "run string, producer string, role string, from_ns long, until_ns long, origin_ns long"
    found = benchmark.around(run.acks, spark.createDataFrame(chosen, schema), _AROUND_BUCKET_NS)
    return {
        "round": full[0],
        "bucket_s": _AROUND_BUCKET_NS / 1e9,
        "fault_s": max((w["end_mono_ns"] - w["begin_mono_ns"]) / 1e9 for w in faults if w["pair"] == full[0]),
        "points": rows(found.drop("run").orderBy("role", "bucket")),
    }
