"""Gates evaluated by the numbers of report.json: for each gate and run whether it is met, and by which values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from spark_analysis.errors import AnalysisError
from spark_analysis.locations import Location
from spark_analysis.report.gate_file import Gate, Gates
from spark_analysis.report.read_back import unchecked
from spark_analysis.statistics.stats import MIN_PAIRS
from spark_analysis.statistics.verdict_words import FLOOR_MET, GOAL_MET, NO_CONTROL, NOT_ENOUGH, NOT_HERE


@dataclass(frozen=True)
class GateResult:
    """The result of one gate in one run; ``known`` is False where the report has no value for it."""

    gate: str
    run: str
    observed: str
    met: bool
    known: bool = True

    def __str__(self) -> str:
        return f"{'✓' if self.met else '✗'} {self.gate}{f' ({self.run})' if self.run else ''}: {self.observed}"


def evaluate(gates: Gates, document: dict[str, Any]) -> list[GateResult]:
    """Outcomes of every gate in every run that it is about, in the order of the file. What is not known is missed,
    unless the gate says otherwise.
    """
    return [outcome for gate in gates.gates for outcome in _evaluate(gate, document)]


def missed(outcomes: list[GateResult], page: Location) -> AnalysisError | None:
    """The error (exit code 1) that names the gates that were missed; None if all were met."""
    names = [o.gate for o in outcomes if not o.met]
    if not names:
        return None
    return AnalysisError(
        f"{len(names)} of {len(outcomes)} gates missed",
        observed="; ".join(dict.fromkeys(names)),
        do=f"see {page}; a gate that is missed for want of rounds needs a longer benchmark",
    )


def _evaluate(gate: Gate, document: dict[str, Any]) -> list[GateResult]:
    if gate.of == "skipped":
        return [_bounded(gate, "", len(document["skipped"]), "folders skipped")]
    part = "outage" if gate.of == "lost" else "bench"
    runs = [r for r in document["runs"] if r[part] and fnmatchcase(r["name"], gate.run)]
    found = [outcome for run in runs for outcome in [*_in_run(gate, run)] or _without(gate, run)]
    kind = "with records read back" if part == "outage" else "of a benchmark"
    return found or [_unknown(gate, "", f"no run {kind} named {gate.run} has a value for it")]


def _without(gate: Gate, run: dict[str, Any]) -> list[GateResult]:
    """A run that was named and has no value is not known; one of all runs need not be of the kind that has it."""
    return [] if gate.run == "*" else [_unknown(gate, run["name"], "it has no value for it")]


def _in_run(gate: Gate, run: dict[str, Any]) -> Iterator[GateResult]:
    name = run["name"]
    if gate.of == "lost":
        kept = run["outage"]["durability"]
        lost, acknowledged = kept["totals"]["lost"], kept["totals"]["acknowledged"]
        found = _bounded(gate, name, lost, f"of {acknowledged:,} acknowledged records lost")
        if lost and not found.met:  # whatever was not looked for
            yield found
        elif kept["state"] == "not checked":
            yield _unknown(gate, name, "durability was not checked")
        elif gaps := unchecked(run):
            yield _unknown(gate, name, f"durability was checked in part; not checked: {'; '.join(gaps)}")
        elif not acknowledged:
            yield _unknown(gate, name, "no record was acknowledged")
        else:
            yield found
    elif gate.of == "invalid":
        yield _bounded(
            gate, name, len(run["bench"]["invalid"]), f"of {len(run['bench']['blocks'])} measured parts invalid"
        )
    elif gate.of == "goal":
        for row in run["bench"]["goals"]:
            if row["id"] == gate.goal:
                accepted = gate.verdict or [GOAL_MET, FLOOR_MET]
                # What meets the goal meets the floor: noise that hides the former must not pass in its place.
                accepted = [*accepted, *([GOAL_MET] if FLOOR_MET in accepted and GOAL_MET not in accepted else [])]
                yield _by_verdict(gate, name, run["bench"]["plan"], row, accepted, f"{row['what']}: ")
    else:
        requested = (gate.mode, gate.part, round(10 * float(gate.quantile[1:]), 1))
        for row in run["bench"]["ratios"]:
            if (row["role"], row["part"], row["per_thousand"]) == requested:
                yield _of_ratio(gate, name, run["bench"]["plan"], row)


def _of_ratio(gate: Gate, run: str, plan: dict[str, Any], row: dict[str, Any]) -> GateResult:
    if row["not_shown"]:
        return GateResult(gate.name, run, row["not_shown"], False)
    if gate.verdict:
        outcome = _by_verdict(gate, run, plan, row, gate.verdict, "")
        if not outcome.met or (gate.at_most is None and gate.at_least is None):
            return outcome
    if row["low"] is None:
        few = f"{NOT_ENOUGH}: {row['rounds']} of the {MIN_PAIRS} rounds that carry an interval"
        return _too_few(gate, run, plan, few)
    if row["noise"] is None:
        return GateResult(gate.name, run, f"{NO_CONTROL}, {_span(row)}{_requested(gate)}", False)
    # The interval that the noise could have moved: equivalence, so that more noise never passes more easily.
    low, high = row["low"] / row["noise"], row["high"] * row["noise"]
    met = (gate.at_least is None or low >= gate.at_least) and (gate.at_most is None or high <= gate.at_most)
    widened = f", with the noise {low:.3g} to {high:.3g}"
    return GateResult(gate.name, run, f"{_span(row)}{widened}{_requested(gate)}", met)


def _too_few(gate: Gate, run: str, plan: dict[str, Any], why: str) -> GateResult:
    """Too few rounds are not known only where no more were planned; else they were lost, and the gate is missed."""
    if (plan.get("planned") or 0) >= MIN_PAIRS:
        return GateResult(gate.name, run, f"{why}; {plan['planned']} were planned", False, known=False)
    return _unknown(gate, run, why)


def _by_verdict(
    gate: Gate, run: str, plan: dict[str, Any], row: dict[str, Any], accepted: list[str], what: str
) -> GateResult:
    observed = f"{what}{row['verdict']}{'' if row['low'] is None else f', {_span(row)}'}"
    if row["verdict"] == NOT_ENOUGH:
        return _too_few(gate, run, plan, observed)
    if row["verdict"].startswith(NOT_HERE):
        return _unknown(gate, run, observed)
    return GateResult(gate.name, run, f"{observed}, requested: {' or '.join(accepted)}", row["verdict"] in accepted)


def _bounded(gate: Gate, run: str, value: int, what: str) -> GateResult:
    met = (gate.at_most is None or value <= gate.at_most) and (gate.at_least is None or value >= gate.at_least)
    return GateResult(gate.name, run, f"{value:,} {what}{_requested(gate)}", met)


def _unknown(gate: Gate, run: str, why: str) -> GateResult:
    consequence = "; counts as met, as the gate says" if gate.unknown == "met" else "; what is not known is missed"
    return GateResult(gate.name, run, f"{why}{consequence}", gate.unknown == "met", known=False)


def _span(row: dict[str, Any]) -> str:
    return f"{row['estimate']:.3g} ({row['low']:.3g} to {row['high']:.3g})"


def _requested(gate: Gate) -> str:
    bounds = [f"at least {gate.at_least:g}"] if gate.at_least is not None else []
    bounds += [f"at most {gate.at_most:g}"] if gate.at_most is not None else []
    return f", requested: {' and '.join(bounds)}" if bounds else ""
