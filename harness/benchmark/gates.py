"""Gates: what a report must say for a change to pass, as YAML; evaluated by the numbers of report.json."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from harness.common.validation import Strict, read_yaml, validated

NOT_ENOUGH = "not enough runs"
_VERDICTS = {
    "ratio": ("improved", "within noise", "regressed"),
    "goal": ("meets the goal", "meets the floor", "does not meet the floor"),
}


class Gate(Strict):
    """One demand on every run of a name. A bound is about the complete 95 % interval, not about its middle."""

    name: str = Field(min_length=1, description="what is demanded, in words")
    of: Literal["ratio", "goal", "lost", "invalid", "skipped"]
    run: str = Field("*", description="name of the runs it is about, with * and ?")
    goal: str = Field("", pattern=r"^(P\d)?$", description="of a goal: its id")
    mode: str = Field("candidate", description="of a ratio: role of the mode that stands above the baseline")
    quantile: str = Field("p99", pattern=r"^p\d\d(\.\d{1,2})?$", description="of a ratio")
    part: Literal["quiet", "fault"] = Field("quiet", description="of a ratio: before or during the fault")
    at_most: float | None = None
    at_least: float | None = None
    verdict: list[str] = Field(default_factory=list, description="the verdicts that pass")
    unknown: Literal["missed", "met"] = Field("missed", description="what follows when nothing is known")

    @model_validator(mode="after")
    def _fits(self) -> Gate:
        known = _VERDICTS.get(self.of, ())
        for verdict in self.verdict:
            if verdict not in known:
                raise ValueError(f"{self.of} has no verdict {verdict!r}; known: {', '.join(known) or 'none'}")
        if self.of == "goal" and not self.goal:
            raise ValueError("a goal needs its id, as `goal: P2`")
        if self.of != "goal" and self.at_most is None and self.at_least is None and not self.verdict:
            raise ValueError("nothing is demanded: give at_most, at_least or verdict")
        return self


class Gates(Strict):
    """A file of gates."""

    apiVersion: Literal["rackspan/v1"] = "rackspan/v1"
    gates: list[Gate] = Field(min_length=1)


@dataclass(frozen=True)
class Outcome:
    """What came of one gate in one run; ``known`` is False where the report says nothing of it."""

    gate: str
    run: str
    observed: str
    met: bool
    known: bool = True

    def __str__(self) -> str:
        return f"{'✓' if self.met else '✗'} {self.gate}{f' ({self.run})' if self.run else ''}: {self.observed}"


def load(path: Path) -> Gates:
    """Gates of a YAML file. Raises RackspanError (exit code 2) that names every bad key and the nearest known one."""
    return validated(
        Gates,
        read_yaml(path, "gates"),
        where=str(path),
        what="file of gates",
        begin="begin with `gates:` and a list; docs/results/gates.yaml is one",
        do="correct the keys named above; harness/benchmark/gates.py says what each one means",
    )


def evaluate(gates: Gates, document: dict[str, Any]) -> list[Outcome]:
    """Every gate in every run that it is about, in the order of the file. What is not known is missed, unless the gate
    says otherwise.
    """
    return [outcome for gate in gates.gates for outcome in _evaluate(gate, document)]


def _evaluate(gate: Gate, document: dict[str, Any]) -> list[Outcome]:
    if gate.of == "skipped":
        return [_bounded(gate, "", len(document["skipped"]), "folders skipped")]
    part = "outage" if gate.of == "lost" else "bench"
    runs = [r for r in document["runs"] if r[part] and fnmatchcase(r["name"], gate.run)]
    found = [outcome for run in runs for outcome in _in_run(gate, run)]
    kind = "with records read back" if part == "outage" else "of a benchmark"
    return found or [_unknown(gate, "", f"no run {kind} named {gate.run} says anything of it")]


def _in_run(gate: Gate, run: dict[str, Any]) -> Iterator[Outcome]:
    name = run["name"]
    if gate.of == "lost":
        kept = run["outage"]["durability"]
        if kept["state"] != "checked":
            yield _unknown(gate, name, f"durability was {kept['state']}")
        else:
            lost, acknowledged = kept["totals"]["lost"], kept["totals"]["acknowledged"]
            yield _bounded(gate, name, lost, f"of {acknowledged:,} acknowledged records lost")
    elif gate.of == "invalid":
        yield _bounded(
            gate, name, len(run["bench"]["invalid"]), f"of {len(run['bench']['blocks'])} measured parts invalid"
        )
    elif gate.of == "goal":
        for row in run["bench"]["goals"]:
            if row["id"] == gate.goal:
                accepted = gate.verdict or ["meets the goal", "meets the floor"]
                yield _by_verdict(gate, name, row, accepted, f"{row['what']}: ")
    else:
        requested = (gate.mode, gate.part, round(10 * float(gate.quantile[1:]), 1))
        for row in run["bench"]["ratios"]:
            if (row["role"], row["part"], row["per_thousand"]) == requested:
                yield _of_ratio(gate, name, row)


def _of_ratio(gate: Gate, run: str, row: dict[str, Any]) -> Outcome:
    if gate.verdict:
        evaluated = _by_verdict(gate, run, row, gate.verdict, "")
        if not evaluated.met or (gate.at_most is None and gate.at_least is None):
            return evaluated
    if row["low"] is None:
        return _unknown(gate, run, f"{NOT_ENOUGH}: {row['rounds']} of the 6 rounds that carry an interval")
    high_enough = gate.at_least is None or row["low"] >= gate.at_least
    met = high_enough and (gate.at_most is None or row["high"] <= gate.at_most)
    return Outcome(gate.name, run, f"{_span(row)}{_requested(gate)}", met)


def _by_verdict(gate: Gate, run: str, row: dict[str, Any], accepted: list[str], what: str) -> Outcome:
    reported = f"{what}{row['verdict']}{'' if row['low'] is None else f', {_span(row)}'}"
    if row["verdict"] == NOT_ENOUGH or row["verdict"].startswith("not measurable"):
        return _unknown(gate, run, reported)
    return Outcome(gate.name, run, f"{reported}, requested: {' or '.join(accepted)}", row["verdict"] in accepted)


def _bounded(gate: Gate, run: str, value: int, what: str) -> Outcome:
    met = (gate.at_most is None or value <= gate.at_most) and (gate.at_least is None or value >= gate.at_least)
    return Outcome(gate.name, run, f"{value:,} {what}{_requested(gate)}", met)


def _unknown(gate: Gate, run: str, why: str) -> Outcome:
    reported = "; counts as met, as the gate says" if gate.unknown == "met" else "; what is not known is missed"
    return Outcome(gate.name, run, f"{why}{reported}", gate.unknown == "met", known=False)


def _span(row: dict[str, Any]) -> str:
    return f"{row['estimate']:.3g} ({row['low']:.3g} to {row['high']:.3g})"


def _requested(gate: Gate) -> str:
    bounds = [f"at least {gate.at_least:g}"] if gate.at_least is not None else []
    bounds += [f"at most {gate.at_most:g}"] if gate.at_most is not None else []
    return f", requested: {' and '.join(bounds)}" if bounds else ""
