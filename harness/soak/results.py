"""Results of a soak so far: cycles and their verdicts, as tables, and as a file from which it is carried on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.common import markdown
from harness.common.atomic_files import write_aside
from harness.common.errors import Exit, usage_error
from harness.soak.schedule import ScheduledFault

_TOTALS = ("sent", "acknowledged", "refused", "unknown")


@dataclass
class Cycle:
    """One cycle: what was done to the cluster, and the verdict."""

    number: int
    run: str
    faults: list[ScheduledFault]
    verdict: dict[str, Any]

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Cycle:
        """Reads a cycle that was written as JSON."""
        verdict = {key: value for key, value in plain.items() if key not in ("cycle", "faults")}
        return cls(plain["cycle"], plain["run"], [ScheduledFault(**f) for f in plain["faults"]], verdict)

    def plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"cycle": self.number, "run": self.run, "faults": [f.plain() for f in self.faults], **self.verdict}

    @property
    def good(self) -> bool:
        """True if everything was read and nothing was wrong; what one cycle did not try others may."""
        state = self.verdict["verdict"]
        return state == "ok" or (state == "unknown" and not self.verdict.get("unread"))

    @property
    def anomalies(self) -> int:
        """Number of anomalies found."""
        return sum(self.verdict["counts"].values())


@dataclass
class Soak:
    """All cycles so far, and the options that they follow from."""

    origin: dict[str, Any]
    cycles: list[Cycle] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """True if every cycle was evaluated and nothing was wrong."""
        return all(c.good for c in self.cycles)

    @property
    def exit_code(self) -> Exit:
        """FAILED after an anomaly; UNKNOWN where a cycle could not be evaluated, or nothing was acknowledged in all."""
        if any(c.anomalies for c in self.cycles):
            return Exit.FAILED
        acknowledged = _sums(self.cycles)["totals"]["acknowledged"]
        return Exit.OK if self.good and acknowledged else Exit.UNKNOWN

    @property
    def exposure(self) -> dict[str, int]:
        """Number of times that each promise was tried in all cycles."""
        sums: Counter[str] = Counter()
        for cycle in self.cycles:
            sums.update(cycle.verdict.get("exposure", {}))
        return dict(sums)

    @property
    def untried(self) -> list[str]:
        """Promises of some cycle that were tried in none."""
        missing = {rule for c in self.cycles for rule in c.verdict.get("untried", ())}
        return [rule for rule, number in self.exposure.items() if rule in missing and not number]

    def plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            **self.origin,
            "cycles": [c.plain() for c in self.cycles],
            "exposure": self.exposure,
            "untried": self.untried,
            "faults": dict(sorted(Counter(f.kind for c in self.cycles for f in c.faults).items())),
            **_sums(self.cycles),
        }

    def write(self, out: Path) -> None:
        """Writes soak.json and soak.md."""
        write_aside(out / "soak.json", json.dumps(self.plain(), indent=1) + "\n")
        write_aside(out / "soak.md", f"{self.text()}\n")

    def text(self) -> str:
        """The tables, the promises that nothing tried, and what elections lost of acks=min.insync.replicas."""
        never = f"never tried, so not known: {', '.join(self.untried)}" if self.untried else ""
        lost = lost_to_elections([c.verdict for c in self.cycles])
        return "\n\n".join(filter(None, (self.by_kind(), self.table(), self.tried(), never, lost)))

    def tried(self) -> str:
        """Number of times that each promise was tried, as a table in Markdown; empty where no cycle says it."""
        rows = []
        for rule, number in self.exposure.items():
            cycles = sum(1 for c in self.cycles if c.verdict.get("exposure", {}).get(rule))
            rows.append([rule, str(number), str(cycles)])
        return markdown.table(["promise broken by", "tried", "in cycles"], rows) if rows else ""

    def table(self) -> str:
        """Cycles as a table in Markdown."""
        head = ["cycle", "faults", "sent", *_TOTALS[1:], "anomalies", "longest silence"]
        rows = [_row([str(c.number), ", then ".join(map(words, c.faults))], [c]) for c in self.cycles]
        return markdown.table(head, [*rows, _row(["all", ""], self.cycles)])

    def by_kind(self) -> str:
        """Kinds of fault as a table in Markdown, each with all cycles that had it."""
        head = ["fault", "times", "cycles", *_TOTALS, "anomalies", "longest silence"]
        rows = []
        times = Counter(f.kind for c in self.cycles for f in c.faults)
        for kind, number in sorted(times.items()):
            with_it = [c for c in self.cycles if kind in {f.kind for f in c.faults}]
            rows.append(_row([kind.replace("_", " "), str(number), str(len(with_it))], with_it))
        return markdown.table(head, [*rows, _row(["all", str(times.total()), str(len(self.cycles))], self.cycles)])


def lost_to_elections(verdicts: Sequence[dict[str, Any]]) -> str:
    """The sentence on records acknowledged with acks=min.insync.replicas; empty where there were none."""
    acknowledged = sum(v["totals"].get("acknowledged_by_quorum", 0) for v in verdicts)
    lost = sum(v.get("allowed", {}).get("lost-to-election", 0) for v in verdicts)
    by_set = sum(v["totals"].get("acknowledged_by_set", 0) for v in verdicts)
    if by_set:
        return f"{by_set} records acknowledged with acks=min.insync.replicas at level 2: none may be lost"
    if not acknowledged:
        return ""
    records = f"{lost} of {acknowledged} records acknowledged with acks=min.insync.replicas"
    return f"{records} were lost to elections, which level 1 allows"


def carried_on(out: Path, origin: dict[str, Any], first: int) -> Soak:
    """The soak whose next cycle is `first`: a new one, or the one in `out` where it has the cycles before.

    Raises RackspanError (exit code 2) where `out` holds another soak, which would be written over.
    """
    path = out / "soak.json"
    if first == 1 or not path.exists():
        return Soak(origin)
    reported = {"faults_per_cycle": 1} | json.loads(path.read_text(encoding="utf-8"))
    before = Soak({key: reported.get(key) for key in origin}, [Cycle.of(c) for c in reported["cycles"]])
    other = [
        f"{key} {reported.get(key)!r}, not {value!r}" for key, value in origin.items() if reported.get(key) != value
    ]
    numbers = [c.number for c in before.cycles if c.number < first]
    if not other and numbers and numbers[-1] == first - 1:
        return Soak(origin, before.cycles[: len(numbers)])
    last = before.cycles[-1].number if before.cycles else 0
    raise usage_error(
        f"cycle {first} does not carry on the soak in {out}",
        observed="; ".join(other) or f"its last cycle is {last}",
        do=f"continue with --first {last + 1} and the same options, or choose another folder with --out",
    )


def words(fault: ScheduledFault) -> str:
    """A fault in words."""
    tail = "" if fault.tail == "none" else f" ({fault.tail} tail)"
    if fault.what == "cut_behind_pause":
        return f"rack {fault.other} paused, power cut of rack {fault.target}{tail}"
    if fault.what == "degrade":
        return f"power cut of rack {fault.other}{tail}, degrade to rack {fault.target}"
    whom = "" if fault.whom == "all" else f" {fault.whom}"
    target = "-".join(filter(None, (fault.target, fault.other)))
    parts = (f"{fault.what.replace('_', ' ')}{whom}", target, fault.much)
    return " ".join(filter(None, parts)) + tail


def _sums(cycles: list[Cycle]) -> dict[str, Any]:
    totals = {name: sum(c.verdict["totals"][name] for c in cycles) for name in _TOTALS}
    return {
        "totals": totals | {"anomalies": sum(c.anomalies for c in cycles)},
        "longest_silence_ms": max((c.verdict["totals"]["longest_silence_ms"] for c in cycles), default=0),
    }


def _row(start: list[str], cycles: list[Cycle]) -> list[str]:
    sums = _sums(cycles)
    numbers = [str(sums["totals"][name]) for name in (*_TOTALS, "anomalies")]
    return [*start, *numbers, f"{sums['longest_silence_ms'] / 1000:.1f} s"]
