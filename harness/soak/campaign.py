"""A soak: one cluster, cycle after cycle of load and seeded faults, each judged before the next begins."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.cluster import KafkaCluster
from harness.files import write_aside
from harness.progress import Progress
from harness.scenarios.placement import assignment
from harness.services.topics import Topics
from harness.soak.act import Stage, act
from harness.soak.cycle import run_cycle
from harness.soak.judge import Judge
from harness.soak.schedule import EVERYWHERE, Fault, Kind, schedule
from harness.spec import ClusterSpec

_TOTALS = ("sent", "acknowledged", "refused", "unknown")


@dataclass
class Cycle:
    """One cycle: what was done to the cluster, and the verdict."""

    number: int
    run: str
    faults: list[Fault]
    verdict: dict[str, Any]

    @property
    def anomalies(self) -> int:
        """How many were found."""
        return sum(self.verdict["counts"].values())


@dataclass
class Soak:
    """All cycles so far."""

    seed: int
    distribution: str
    cycles: list[Cycle] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether every cycle was judged and nothing was wrong."""
        return all(c.verdict["verdict"] == "ok" for c in self.cycles)

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        totals = {name: sum(c.verdict["totals"][name] for c in self.cycles) for name in _TOTALS}
        return {
            "seed": self.seed,
            "distribution": self.distribution,
            "cycles": [
                {"cycle": c.number, "run": c.run, "faults": [f.plain() for f in c.faults], **c.verdict}
                for c in self.cycles
            ],
            "faults": dict(sorted(Counter(f.kind for c in self.cycles for f in c.faults).items())),
            "totals": totals | {"anomalies": sum(c.anomalies for c in self.cycles)},
            "longest_silence_ms": max((c.verdict["totals"]["longest_silence_ms"] for c in self.cycles), default=0),
        }

    def table(self) -> str:
        """As a table in Markdown, a line a cycle, then the faults by kind."""
        rows = ["| cycle | faults | sent | acknowledged | refused | unknown | anomalies | longest silence |"]
        rows.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for c in self.cycles:
            t = c.verdict["totals"]
            done = ", then ".join(_words(f) for f in c.faults)
            numbers = " | ".join(str(t[name]) for name in _TOTALS)
            rows.append(f"| {c.number} | {done} | {numbers} | {c.anomalies} | {t['longest_silence_ms'] / 1000:.1f} s |")
        whole = self.plain()
        numbers = " | ".join(str(whole["totals"][name]) for name in _TOTALS)
        silence = f"{whole['longest_silence_ms'] / 1000:.1f} s"
        rows.append(f"| all | | {numbers} | {whole['totals']['anomalies']} | {silence} |")
        kinds = ", ".join(f"{kind} {number}" for kind, number in whole["faults"].items())
        return "\n".join([*rows, "", f"Faults by kind: {kinds}."])


def run_soak(
    runs: Path,
    out: Path,
    spec: ClusterSpec,
    *,
    cycles: int,
    seed: int,
    rate: float = 100,
    min_racks: int = 2,
    first: int = 1,
    kinds: Sequence[Kind] = EVERYWHERE,
    progress: Progress | None = None,
) -> Soak:
    """Runs the cycles and writes soak.json and soak.md anew after each; ends early when one is not ok.

    The faults follow from `seed`, the number of the cycle and `kinds`, so that `first` replays one. Raises
    RackspanError.
    """
    progress = progress or Progress()
    soak = Soak(seed, spec.distribution)
    with KafkaCluster.running(spec, progress=progress) as cluster, Judge(out) as judge:
        quiet, cluster.progress = cluster.progress, Progress()  # one line a step of a cycle is enough
        for number in range(first, first + cycles):
            faults = faults_of(cluster, seed, number, kinds)
            progress.note(f"cycle {number} of seed {seed}: {', then '.join(map(_words, faults))}")
            run = play(runs, cluster, number, faults, seed=seed, rate=rate, min_racks=min_racks, progress=progress)
            with progress.step(f"cycle {number} judged") as seen:
                verdict = judge.verdict(run)
                seen(verdict["verdict"])
            soak.cycles.append(Cycle(number, run.name, faults, verdict))
            write(soak, out)
            progress.note(f"cycle {number}: {verdict['verdict']}, {verdict['totals']['acknowledged']} acknowledged")
            if verdict["verdict"] != "ok":
                break
            Topics(cluster.bootstrap).delete(f"cycle-{number}")
        cluster.progress = quiet
    return soak


def faults_of(cluster: KafkaCluster, seed: int, number: int, kinds: Sequence[Kind] = EVERYWHERE) -> list[Fault]:
    """The faults of one cycle on this cluster."""
    brokers = cluster.plan.brokers
    return schedule(seed, number, list(dict.fromkeys(n.rack for n in brokers)), [n.name for n in brokers], kinds)


def write(soak: Soak, out: Path) -> None:
    """Writes soak.json and soak.md."""
    write_aside(out / "soak.json", json.dumps(soak.plain(), indent=1) + "\n")
    write_aside(out / "soak.md", soak.table() + "\n")


def play(
    runs: Path,
    cluster: KafkaCluster,
    number: int,
    faults: Sequence[Fault],
    *,
    seed: int,
    min_racks: int,
    min_replicas: int = 2,
    rate: float = 100,
    progress: Progress | None = None,
) -> Path:
    """One cycle with these faults, one after another, on a topic with a partition led by each broker; its run folder.

    Raises RackspanError.
    """
    progress = progress or Progress()

    def story(stage: Stage) -> None:
        for fault in faults:
            with progress.step(_words(fault)):
                act(stage, fault)

    return run_cycle(
        runs,
        f"cycle-{number}",
        cluster,
        story,
        seed=seed,
        assignment=assignment(cluster.plan.brokers),
        min_racks=min_racks,
        min_replicas=min_replicas,
        rate=rate,
        told={"cycle": number, "faults": [f.plain() for f in faults]},
        progress=progress,
    )


def _words(fault: Fault) -> str:
    tail = "" if fault.tail == "none" else f" ({fault.tail} tail)"
    if fault.what == "cut_behind_pause":
        return f"rack {fault.other} frozen, power cut of rack {fault.target}{tail}"
    whom = "" if fault.whom == "all" else f" {fault.whom}"
    target = "-".join(filter(None, (fault.target, fault.other)))
    parts = (f"{fault.what.replace('_', ' ')}{whom}", target, fault.much)
    return " ".join(filter(None, parts)) + tail
