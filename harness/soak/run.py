"""A soak: one cluster, cycle after cycle of load and seeded faults, each evaluated while the next one runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.admin.topics import Topics
from harness.benchmark.load_clients import resident_of
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.progress import Progress
from harness.load.resident import ResidentClient
from harness.soak.checker_process import CheckerProcess
from harness.soak.cycle import run_cycle
from harness.soak.inject import FaultPlace, act
from harness.soak.results import Cycle, Soak, carried_on, lost_to_elections, words
from harness.soak.schedule import EVERYWHERE, Kind, ScheduledFault, schedule, without_degrades
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.replica_assignment import assignment

DEGRADES = "degrade.patch"  # of a distribution that knows min.insync.racks.degrade


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
    faults_per_cycle: int = 1,
    progress: Progress | None = None,
) -> Soak:
    """Runs the cycles and writes soak.json and soak.md anew after each; ends early when one is not ok.

    The faults follow from `seed`, the number of the cycle, `kinds` and `faults_per_cycle`, so that `first` replays one,
    or carries on the soak that `out` holds. While a cycle is evaluated the next one runs already. Raises RackspanError.
    """
    progress = progress or Progress()
    names = [f"{what}:{whom}" for what, whom in kinds]
    origin = {"seed": seed, "distribution": spec.distribution, "backend": spec.backend, "kinds": names}
    soak = carried_on(out, origin | {"min_racks": min_racks, "rate": rate, "faults_per_cycle": faults_per_cycle}, first)
    with (
        KafkaCluster.running(spec, progress=progress) as cluster,
        resident_of(cluster) as resident,
        _evaluating(out) as evaluate,
    ):
        if not min_racks or DEGRADES not in cluster.distribution.patches:
            kinds = without_degrades(kinds)
        quiet, cluster.progress = cluster.progress, Progress()  # one line a step of a cycle is enough
        waiting: _Waiting | None = None
        for number in range(first, first + cycles):
            faults = faults_of(cluster, seed, number, kinds, faults_per_cycle)
            progress.note(f"cycle {number} of seed {seed}: {', then '.join(map(words, faults))}")
            try:
                run = play(
                    runs,
                    cluster,
                    resident,
                    number,
                    faults,
                    seed=seed,
                    rate=rate,
                    min_racks=min_racks,
                    progress=progress,
                )
            finally:
                if waiting is not None:
                    _evaluated(soak, out, waiting, progress)
            if not soak.good:
                break
            # The next faults may take more than a promise bears: an electable set would wait for its members.
            Topics(cluster.bootstrap).delete(f"cycle-{number}")
            waiting = _Waiting(number, run, faults, evaluate(run))
        else:
            if waiting is not None:
                _evaluated(soak, out, waiting, progress)
        cluster.progress = quiet
    return soak


@dataclass
class _Waiting:
    """A cycle that was played and is before the evaluate."""

    number: int
    run: Path
    faults: list[ScheduledFault]
    verdict: Future[dict[str, Any]]


def _evaluated(soak: Soak, out: Path, cycle: _Waiting, progress: Progress) -> None:
    """Waits for the verdict and writes it down. Raises RackspanError."""
    if not cycle.verdict.done():
        with progress.step(f"cycle {cycle.number} evaluated"):
            cycle.verdict.result()
    verdict = cycle.verdict.result()
    soak.cycles.append(Cycle(cycle.number, cycle.run.name, cycle.faults, verdict))
    soak.write(out)
    progress.note(f"cycle {cycle.number}: {verdict['verdict']}, {verdict['totals']['acknowledged']} acknowledged")
    if lost := lost_to_elections([verdict]):
        progress.note(f"cycle {cycle.number}: {lost}")


@contextmanager
def _evaluating(out: Path) -> Iterator[Callable[[Path], Future[dict[str, Any]]]]:
    """A function that hands a run folder to the checker, and gives what will be its verdict."""
    with CheckerProcess(out) as evaluate, ThreadPoolExecutor(max_workers=1) as turns:
        yield lambda run: turns.submit(evaluate.verdict, run)


def faults_of(
    cluster: KafkaCluster, seed: int, number: int, kinds: Sequence[Kind] = EVERYWHERE, per_cycle: int = 1
) -> list[ScheduledFault]:
    """The faults of one cycle on this cluster."""
    brokers = cluster.plan.brokers
    racks = list(dict.fromkeys(n.rack for n in brokers))
    return schedule(seed, number, racks, [n.name for n in brokers], kinds, per_cycle)


def play(
    runs: Path,
    cluster: KafkaCluster,
    resident: ResidentClient,
    number: int,
    faults: Sequence[ScheduledFault],
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

    def story(place: FaultPlace) -> None:
        for fault in faults:
            with progress.step(words(fault)):
                act(place, fault)

    return run_cycle(
        runs,
        f"cycle-{number}",
        cluster,
        resident,
        story,
        seed=seed,
        assignment=assignment(cluster.plan.brokers),
        min_racks=min_racks,
        min_replicas=min_replicas,
        rate=rate,
        reported={"cycle": number, "faults": [f.plain() for f in faults]},
        progress=progress,
    )
