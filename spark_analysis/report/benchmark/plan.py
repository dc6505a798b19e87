"""A run beside the plan that it wrote before it began: rounds that are missing or too many, and earlier runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spark_analysis.statistics.verdict_words import NOT_SHOWN

# The first schema version of run folders whose benchmarks write their plan before anything starts.
PLANNED_FROM = 4
_UNPLANNED = f"{NOT_SHOWN}no plan was written before the run"
# What a run is about where its plan does not say so (older run folders).
_PRIMARY = [
    {"mode": "candidate", "against": "baseline", "part": part, "per_thousand": q}
    for part in ("quiet", "fault")
    for q in (500, 990)
]


def against_plan(
    plan: Mapping[str, Any], workload: Mapping[str, Any], found: Sequence[Mapping[str, Any]], version: int = 0
) -> dict[str, Any]:
    """planned, spare (None: no plan is known), begun (rounds in which any mode had a block), ran (those in which every
    mode had its block), valid (those of them without an invalid part), missing (labels of planned modes that never
    ran), endpoints, earlier, and not_shown: the verdict where the run ended before its plan, or went beyond it; else
    empty.

    ``found`` are the measured parts of blocks, ``version`` is the schema version of the run folder, from PLANNED_FROM
    on with a plan. A plan's rounds are not all valid: not_shown is about those that ran.
    """
    blocks = workload.get("blocks") or {}
    planned, spare = (plan.get(name, blocks.get(name)) for name in ("rounds", "spare"))
    modes = plan.get("modes") or workload["modes"]
    roles = {m["role"] for m in modes}
    of_rounds: dict[int, list[Mapping[str, Any]]] = {}
    for block in found:
        of_rounds.setdefault(block["pair"], []).append(block)
    ran = [parts for parts in of_rounds.values() if roles <= {b["role"] for b in parts}]
    observed_roles = {b["role"] for b in found}
    observed = {
        "planned": planned,
        "spare": spare,
        "begun": len(of_rounds),
        "ran": len(ran),
        "valid": sum(not any(b["invalid"] for b in parts) for parts in ran),
        "missing": [m["label"] for m in modes if m["role"] not in observed_roles],
        "endpoints": plan.get("endpoints") or _PRIMARY,
        "earlier": plan.get("earlier", []),
    }
    unplanned = version >= PLANNED_FROM and plan.get("rounds") is None
    return {**observed, "not_shown": _UNPLANNED if unplanned else _not_shown(observed)}


def _not_shown(observed: Mapping[str, Any]) -> str:
    planned, ran, begun = (observed[name] for name in ("planned", "ran", "begun"))
    if planned is None:
        return ""
    if ran < planned:
        return f"{NOT_SHOWN}the run ended after {ran} of its {planned} planned rounds"
    if begun > planned + (observed["spare"] or 0):
        return f"{NOT_SHOWN}{begun} rounds ran, the plan has {planned} and at most {observed['spare'] or 0} spare ones"
    return ""


def sentences(observed: Mapping[str, Any]) -> list[str]:
    """The differences from the plan, and earlier runs of the same benchmark, as text; empty without any."""
    planned, ran, valid, out = observed["planned"], observed["ran"], observed["valid"], []
    if planned is not None and ran < planned:
        out.append(f"fewer rounds than planned: {ran} of {planned} ran")
    elif planned is not None and valid < planned:
        out.append(f"fewer rounds than planned are valid: {valid} of the {planned} planned, {ran} ran")
    elif planned is not None and ran > planned:
        out.append(f"more rounds than planned: {ran} ran, {planned} were planned, {valid} are valid")
    if observed["missing"]:
        out.append(f"planned modes that never ran: {', '.join(observed['missing'])}")
    if observed["earlier"]:
        before = ", ".join(f"{e['run']} ({_rounds(e['rounds'])})" for e in observed["earlier"])
        out.append(f"a new run with {_rounds(planned)}; it continues none of the earlier ones: {before}")
    return out


def _rounds(number: int | None) -> str:
    return "rounds not recorded" if number is None else f"{number} round" + ("" if number == 1 else "s")
