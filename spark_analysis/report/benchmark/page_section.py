"""The part of the document about a benchmark: latency of every mode, comparison with the baseline, and goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_analysis.report.benchmark import knee, processor_time, verdicts
from spark_analysis.report.benchmark.blocks import (
    FAULT,
    QUIET,
    counted,
    evaluate_blocks,
    not_shown_of_all_parts,
    selected,
    slowest,
)
from spark_analysis.report.benchmark.comparison import compared, noises, shifts, stock_again
from spark_analysis.report.benchmark.fault import fault
from spark_analysis.report.benchmark.oracle import against_oracle
from spark_analysis.report.benchmark.plan import against_plan
from spark_analysis.report.benchmark.raw import Raw
from spark_analysis.report.benchmark.rounds import Rounds, Variant
from spark_analysis.report.section import Section
from spark_analysis.statistics import counts
from spark_analysis.statistics.counts import RECORDS, VALUE
from spark_analysis.statistics.selection import Selected
from spark_analysis.statistics.success import Success

_OUTCOMES = [
    *((name, "ascending") for name in ("part", "role")),
    (RECORDS, "descending"),
    *((name, "ascending") for name in ("outcome", "cause")),
]
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


def section(raw: Raw) -> Section:
    """A benchmark run with at least one finished block."""
    spec = raw.manifest["spec"]["workload"]
    found = evaluate_blocks(raw.blocks, counts.send_lags(raw.send_lags), _due(raw.latencies), spec)
    sent = _named(raw.latencies, found)
    valid = sent.filter(~pc.field("invalid"))
    acked = counts.with_unanswered(valid).select([*_BLOCK, VALUE, RECORDS, "max_us"])
    acked = slowest(acked, found, [VALUE, "max_us"])
    succeeded = _success(valid, spec["modes"], _overwritten(raw))
    together = counts.quantiles(acked, _VARIANT)
    deepest = max((r["per_thousand"] for r in together if r["value_us"] is not None), default=0)
    together = [r for r in together if r["per_thousand"] <= max(deepest, ALWAYS_SHOWN)]
    in_blocks = counts.quantiles(acked, _BLOCK)
    histogram = _histogram(acked)
    outcomes = sent.group_by([*_VARIANT, "outcome", "cause"], use_threads=False).aggregate([(RECORDS, "sum")])
    outcomes = outcomes.rename_columns([*_VARIANT, "outcome", "cause", RECORDS]).sort_by(_OUTCOMES)
    busy = [b["cpu_busy"] for b in found if b["cpu_busy"] is not None]
    plan = against_plan(raw.manifest["plan"], spec, found, raw.manifest.get("schema_version", 0))
    selection = selected(found, spec["modes"])
    measured = _measured(in_blocks, together, histogram, succeeded)
    measured = replace(measured, selected=selection, off_plan=plan["not_shown"])
    noise = noises(measured)
    data: dict[str, Any] = {
        "workload": spec,
        "backend": raw.manifest["spec"]["backend"],
        "rtt_ms": raw.manifest["spec"]["rtt_ms"],
        "modes": [{**m, "mode": m["label"]} for m in spec["modes"]],
        "blocks": found,
        "invalid": [b for b in found if b["invalid"]],
        "selected": counted(selection),
        "plan": plan,
        "cpu_busy": median(busy) if busy else None,
        "exact": raw.exact,
        "quantiles": sorted({r["per_thousand"] for r in together}),
        "pooled": _with_rounds(together, measured),
        "per_block": in_blocks,
        "curve": [r for r in counts.quantiles(acked, _VARIANT, _CURVE) if counts.is_answered(r["value_us"])],
        "success": _shown(succeeded),
        "shift": shifts(spec["modes"], measured),
        "outcomes": outcomes.to_pylist(),
        "noise": noise,
        "stock_again": stock_again(measured),
        "ratios": compared(spec["modes"], measured, noise, plan["endpoints"]),
    }
    tables = {
        "bench_block_quantiles": _table(raw, pa.Table.from_pylist(in_blocks, _QUANTILE_ROWS)),
        "bench_histogram": _table(raw, histogram),
        "bench_outcomes": _table(raw, outcomes),
    }
    data["oracle"] = None
    if raw.ideal is not None:
        known = _named(raw.ideal, found).filter(~pc.field("invalid")).select([*_BLOCK, "measure", VALUE, RECORDS])
        itself = {(b["role"], b["pair"]) for b in found if b["saturated"] and b["part"] == QUIET}
        data["oracle"] = against_oracle(known, spec["modes"], _acknowledged(valid), itself)
        tables["bench_oracle"] = _table(raw, known)
    data["fault"] = fault(raw, acked, measured, found) if spec["fault"] else None
    data["end_to_end"] = (
        _end_to_end(raw.received, sent, found, spec["modes"], measured, plan["endpoints"])
        if raw.received is not None
        else None
    )
    steps = knee.steps(raw.events, data["invalid"]) if spec.get("ramp") else []
    data["knee"] = knee.knee(spec["modes"], steps, selection, plan["not_shown"]) if spec.get("ramp") else None
    data["processor_time"] = processor_time.processor_time(spec["modes"], found, _not_shown(data, selection, measured))
    data["goals"] = verdicts.goals(data, measured)
    return Section(data, tables)


def _not_shown(
    data: Mapping[str, Any], selection: Mapping[Variant, Selected], measured: Rounds
) -> Callable[[str, str], str]:
    """The verdict where two modes cannot be compared, else empty. A ramp always leaves records without an answer."""
    if data["knee"]:
        return partial(not_shown_of_all_parts, selection, measured.off_plan)
    return lambda above, below: measured.not_shown((above, QUIET), (below, QUIET))


def _end_to_end(
    consumed: pa.Table,
    sent: pa.Table,
    found: list[dict[str, Any]],
    modes: list[dict[str, Any]],
    acked: Rounds,
    endpoints: list[dict[str, Any]],
) -> dict[str, Any]:
    """Latency from due until received by a consumer, infinite for records of ``sent`` that none received: per mode and
    quantile, and each mode against the baseline.
    """
    received = _named(consumed, found)
    observed = counts.with_missing(received.select([*_BLOCK, "invalid", VALUE, RECORDS]), sent, [*_BLOCK, "invalid"])
    observed = observed.filter(~pc.field("invalid")).select([*_BLOCK, VALUE, RECORDS])
    succeeded = _consumed(observed, modes)
    observed = slowest(observed, found, [VALUE])
    together = counts.quantiles(observed, _VARIANT)
    measured = _measured(counts.quantiles(observed, _BLOCK), together, _histogram(observed), succeeded)
    measured = replace(measured, selected=acked.selected, off_plan=acked.off_plan)
    noise = noises(measured)
    return {
        "noise": noise,
        "success": _shown(measured.success),
        "pooled": _with_rounds([r for r in together if r["value_us"] is not None], measured),
        "ratios": compared(modes, measured, noise, endpoints),
    }


def _due(latencies: pa.Table) -> dict[tuple[int, str], int]:
    """The records of each part of a block."""
    sums = latencies.group_by(["block", "part"]).aggregate([(RECORDS, "sum")]).to_pylist()
    return {(row["block"], row["part"]): int(row[f"{RECORDS}_sum"]) for row in sums}


def _named(counted: pa.Table, found: list[dict[str, Any]]) -> pa.Table:
    """Counts with the names of their blocks, and a column that marks invalid ones."""
    names = [{k: b[k] for k in _BLOCK} | {"invalid": bool(b["invalid"])} for b in found]
    schema = pa.schema([*((k, _QUANTILE_ROWS.field(k).type) for k in _BLOCK), ("invalid", pa.bool_())])
    return counted.join(pa.Table.from_pylist(names, schema), ["block", "part"], join_type="inner")


def _histogram(table: pa.Table) -> pa.Table:
    """Records of each block by bucket of their value."""
    found = counts.bucketed(table).group_by([*_BLOCK, VALUE], use_threads=False).aggregate([(RECORDS, "sum")])
    return found.rename_columns([*_BLOCK, VALUE, RECORDS])


def _table(raw: Raw, table: pa.Table) -> pa.Table:
    return table.add_column(0, "run", pa.array([raw.id] * table.num_rows, pa.string()))


def _overwritten(raw: Raw) -> dict[str, int]:
    """Acknowledged records of each role that were lost, as far as the places of others show it."""
    lost = raw.overwritten
    return {b["role"]: lost[b["producer"]] for b in raw.blocks if b["producer"] in lost}


def _acknowledged(valid: pa.Table) -> dict[str, int]:
    """Acknowledged records of each role before any fault."""
    quiet = valid.filter((pc.field("part") == QUIET) & (pc.field("outcome") == "OK"))
    totals = quiet.group_by("role").aggregate([(RECORDS, "sum")]).to_pylist()
    return {row["role"]: row[f"{RECORDS}_sum"] for row in totals}


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
