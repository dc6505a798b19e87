"""Latency of two ways to ask for two racks, in interleaved blocks (seed 002, Example; measuring in pairs of blocks)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from harness.cluster import KafkaCluster
from harness.load.command import Produce
from harness.load.process import LoadProcess
from harness.progress import Progress
from harness.results import RunFolder
from harness.scenarios.clients import Clients, clients, priority
from harness.scenarios.cpu import Ticks
from harness.scenarios.placement import assignment
from harness.services.topics import Topics
from harness.spec import ClusterSpec
from harness.wait import pause

TOPIC = "orders"
RACKS = {"a": 2, "b": 2, "c": 1}
_JVM = ("-Xmx256m", "-XX:+UseSerialGC")


@dataclass(frozen=True)
class Mode:
    """One side of the comparison: a distribution and the topic settings that a user of it would choose."""

    role: str
    distribution: str
    settings: dict[str, int]

    @property
    def label(self) -> str:
        """How the report calls it."""
        return " ".join([self.distribution, "acks=all", *(f"{k}={v}" for k, v in self.settings.items())])


BASELINE = Mode("baseline", "stock", {"min.insync.replicas": 3})
CANDIDATE = Mode("candidate", "rackspan", {"min.insync.replicas": 2, "min.insync.racks": 2})


@dataclass(frozen=True)
class Schedule:
    """Pairs of blocks in the order ABBA; seconds. ``settle`` runs before each block and counts for nothing."""

    pairs: int = 6
    block: float = 8
    settle: float = 1
    warmup: float = 20

    def order(self) -> list[tuple[int, int]]:
        """(pair, side) of every block, side 0 the baseline: the pairs turn round, so that a drift cancels."""
        return [(pair, (turn + pair) % 2) for pair in range(self.pairs) for turn in (0, 1)]


def spec(mode: Mode) -> ClusterSpec:
    """Five brokers over three racks, with Kafka's own time-outs and the whole JIT compiler."""
    return ClusterSpec(
        name=f"latency-{mode.distribution}",
        distribution=mode.distribution,
        racks=RACKS,
        controllers=1,
        profile="kafka-defaults",
        jvm="full",
        metrics=False,
    )


def run_latency(
    runs: Path,
    *,
    modes: tuple[Mode, Mode] = (BASELINE, CANDIDATE),
    rate: float = 250,
    size: int = 200,
    schedule: Schedule | None = None,
    progress: Progress | None = None,
) -> Path:
    """Brings both clusters up side by side, measures in turn, and returns the run folder; about two and a half minutes.

    The rate (records per second) leaves room on two cores: every record is fetched by four followers.
    Each side keeps one warm client for the whole run; only one of them sends at a time. Raises RackspanError; the run
    folder is then marked failed.
    """
    progress = progress or Progress()
    plan = schedule or Schedule()
    told = {
        "modes": [mode.label for mode in modes],
        "clusters": [spec(mode).model_dump() for mode in modes],
        "rate": rate,
        "size": size,
        "schedule": vars(plan),
        "client_niceness": priority(),
    }
    with RunFolder.create(runs, "latency", kind="latency", spec=told) as run, ExitStack() as stack:
        clusters = [stack.enter_context(KafkaCluster.running(spec(mode), progress=progress)) for mode in modes]
        load = stack.enter_context(clients(run))
        run.update(
            versions={mode.role: c.distribution.version for mode, c in zip(modes, clusters, strict=True)},
            patches=[name for c in clusters for name in c.distribution.patches],
        )
        processes = [_prepare(load, cluster, mode, rate, size) for cluster, mode in zip(clusters, modes, strict=True)]
        _warm_up(run, modes, processes, plan.warmup, progress)
        for number, (pair, side) in enumerate(plan.order()):
            _block(run, modes[side], processes[side], plan, number, pair, progress)
        with progress.step("clients stopped"):
            load.stop()
    return run.path


def _prepare(load: Clients, cluster: KafkaCluster, mode: Mode, rate: float, size: int) -> LoadProcess:
    Topics(cluster.bootstrap).create(TOPIC, assignment(cluster.plan.brokers), **mode.settings)
    cluster.wait_in_sync()
    produce = Produce(mode.role, cluster.bootstrap, TOPIC, Path(), rate=rate, size=size, start_paused=True)
    return load.start(produce, cluster, jvm=_JVM, nice=priority())


def _warm_up(
    run: RunFolder, modes: Sequence[Mode], processes: Sequence[LoadProcess], seconds: float, progress: Progress
) -> None:
    """Both sides at once: compiled code and filled caches are wanted here, not numbers."""
    with progress.step(f"both sides warmed up for {seconds:g} s"):
        for mode, process in zip(modes, processes, strict=True):
            run.event("phase", "warmup", "begin", {"mode": mode.label, "producer": mode.role})
            process.resume()
        pause(seconds)
        for mode, process in zip(modes, processes, strict=True):
            process.pause()
            run.event("phase", "warmup", "end", {"mode": mode.label, "producer": mode.role})


def _block(
    run: RunFolder, mode: Mode, process: LoadProcess, plan: Schedule, number: int, pair: int, progress: Progress
) -> None:
    data = {"block": number, "pair": pair, "mode": mode.label, "role": mode.role, "producer": mode.role}
    with progress.step(f"block {number + 1} of {2 * plan.pairs}: {mode.label}"):
        process.resume()
        pause(plan.settle)
        before = Ticks.now()
        run.event("phase", "block", "begin", data)
        pause(plan.block)
        run.event("phase", "block", "end", {**data, **before.until(Ticks.now())})
        process.pause()
