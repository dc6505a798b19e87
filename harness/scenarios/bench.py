"""A benchmark: modes of writing take turns in one life of a cluster, in blocks (measuring in pairs of blocks)."""

from __future__ import annotations

import random
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cluster import KafkaCluster
from harness.faults.process import nodes_down
from harness.load.command import Produce
from harness.load.process import LoadProcess
from harness.progress import Progress
from harness.results import RunFolder
from harness.scenarios.clients import Clients, clients, priority
from harness.scenarios.cpu import Ticks
from harness.services import fetches
from harness.services.topics import Topics
from harness.spec import ClusterSpec
from harness.wait import Pending, pause, wait_for
from harness.workload import Mode, Workload

_RTT_SAMPLES = 15
_JVM = ("-Xmx256m", "-XX:+UseSerialGC")


@dataclass(frozen=True)
class Side:
    """A mode with the cluster it writes to and its client, warm and paused while others are measured.

    `topics` asks no broker that a fault takes away.
    """

    mode: Mode
    cluster: KafkaCluster
    topics: Topics
    client: LoadProcess


def run_bench(
    runs: Path,
    workload: Workload,
    *,
    seed: int | None = None,
    campaign: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Brings the clusters up, measures every mode in every round, and returns the run folder.

    The order of the modes is shuffled by `seed` in one round and turned round in the next. `campaign` is kept in the
    manifest: runs of one campaign are reported on together. Raises RackspanError; the run folder is then marked failed.
    """
    progress = progress or Progress()
    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    kinds = list(dict.fromkeys(m.distribution for m in workload.modes))
    specs = {kind: cluster_spec(workload, kind, number) for number, kind in enumerate(kinds)}
    with RunFolder.create(runs, f"bench-{workload.name}", kind="bench", seed=seed) as run, ExitStack() as stack:
        clusters = {kind: stack.enter_context(KafkaCluster.running(s, progress=progress)) for kind, s in specs.items()}
        run.update(
            spec={**_told(workload, clusters), "campaign": campaign or {}},
            versions={kind: c.distribution.version for kind, c in clusters.items()},
            patches=[name for c in clusters.values() for name in c.distribution.patches],
        )
        load = stack.enter_context(clients(run))
        with progress.step(f"{len(workload.modes)} topics and warm clients"):
            sides = [_side(workload, mode, clusters[mode.distribution], load) for mode in workload.modes]
            for cluster in clusters.values():
                cluster.wait_in_sync()
        for cluster in clusters.values():
            cluster.progress = Progress()  # one line a block is enough
        _warm_up(run, sides, workload.blocks.warmup, progress)
        for number, turn in enumerate(order(workload.blocks.rounds, len(sides), seed)):
            _turn(run, workload, sides[turn[1]], number, turn[0], progress)
        with progress.step("clients stopped"):
            load.stop()
        if workload.oracle:
            with progress.step("fetches of the followers collected"):
                for cluster in clusters.values():
                    _collect(run, cluster, [m.name for m in workload.modes])
    return run.path


def cluster_spec(workload: Workload, distribution: str, number: int) -> ClusterSpec:
    """The workload's cluster with one of its distributions; they run side by side."""
    changes: dict[str, Any] = {"name": f"bench-{number}-{workload.name}"[:40].rstrip("-"), "distribution": distribution}
    if workload.oracle:
        changes["debug"] = [*workload.cluster.debug, fetches.LOGGER]
    return workload.cluster.model_copy(update=changes)


def order(rounds: int, modes: int, seed: int) -> list[tuple[int, int]]:
    """(round, mode) of every block: each round has all modes, every second one those of the round before backwards."""
    shuffled = random.Random(seed)
    turns: list[tuple[int, int]] = []
    row = list(range(modes))
    for number in range(rounds):
        if number % 2 == 0:
            shuffled.shuffle(row)
        turns += [(number, mode) for mode in (row if number % 2 == 0 else reversed(row))]
    return turns


def _told(workload: Workload, clusters: dict[str, KafkaCluster]) -> dict[str, Any]:
    """What the analysis needs to know: the workload with all defaults, and the racks of the brokers."""
    brokers = {str(n.id): n.broker_rack for c in clusters.values() for n in c.plan.brokers}
    modes = [{**m.model_dump(), "label": m.shown, "role": m.side} for m in workload.modes]
    backend = next(iter(clusters.values())).backend.name
    return {
        "workload": {**workload.model_dump(mode="json"), "modes": modes},
        "broker_racks": brokers,
        "rtt_ms": workload.rtt_ms(),
        "backend": backend,
        "client_niceness": priority(),
    }


def _side(workload: Workload, mode: Mode, cluster: KafkaCluster, load: Clients) -> Side:
    broken = {n.id for n in workload.faulted(cluster.plan.brokers)}
    # A client that asks a frozen broker for metadata waits for it: it never hears of one before it is warm.
    bootstrap = ",".join(n.endpoint for n in cluster.plan.brokers if n.id not in broken)
    replicas = workload.replicas(cluster.plan.brokers)
    topics = Topics(bootstrap)
    topics.create(mode.name, replicas, **workload.topic.settings, **mode.topic)
    produce = Produce(
        mode.name,
        bootstrap,
        mode.name,
        Path(),
        rate=workload.load.rate,
        size=workload.load.size,
        acks=mode.acks,
        connections=workload.load.connections,
        start_paused=True,
        close_seconds=20,
    )
    leader = next(n.name for n in cluster.plan.brokers if n.id == replicas[0][0])
    client = load.start(produce, cluster, jvm=_JVM, nice=priority(), beside=cluster.node(leader))
    return Side(mode, cluster, topics, client)


def _warm_up(run: RunFolder, sides: list[Side], seconds: float, progress: Progress) -> None:
    """All modes at once: compiled code and filled caches are wanted here, not numbers."""
    with progress.step(f"all modes warmed up for {seconds:g} s"):
        for side in sides:
            run.event("phase", "warmup", "begin", {"mode": side.mode.shown, "producer": side.mode.name})
            side.client.resume()
        pause(seconds)
        for side in sides:
            side.client.pause()
            run.event("phase", "warmup", "end", {"mode": side.mode.shown, "producer": side.mode.name})
    for side in sides:
        _answered(side.client)


def _turn(run: RunFolder, workload: Workload, side: Side, number: int, pair: int, progress: Progress) -> None:
    mode, plan = side.mode, workload.blocks
    data = {"block": number, "pair": pair, "mode": mode.shown, "role": mode.side, "producer": mode.name}
    total = plan.rounds * len(workload.modes)
    with progress.step(f"block {number + 1} of {total}, round {pair + 1}: {mode.shown}"):
        side.client.resume()
        pause(plan.settle)
        data |= _links(side.cluster)
        _part(run, {**data, "part": "quiet"}, plan.seconds)
        if workload.fault is not None:
            fault = workload.fault
            names = [n.name for n in workload.faulted(side.cluster.plan.brokers)]
            pause(plan.settle)  # what was due last in the part above has its answer before something breaks
            with nodes_down(side.cluster, names, how=fault.how, events=run, name=f"{fault.how} {fault.target}"):
                _part(run, {**data, "part": "fault"}, fault.seconds, side)
            pause(fault.recover)
        side.client.pause()
        _answered(side.client)
        if workload.fault is not None:
            side.cluster.wait_in_sync()


def _part(run: RunFolder, data: dict[str, Any], seconds: float, broken: Side | None = None) -> None:
    before = Ticks.now()
    run.event("phase", "block", "begin", data)
    pause(seconds)
    seen = {"isr": broken.topics.in_sync(broken.mode.name)} if broken is not None else {}
    run.event("phase", "block", "end", {**data, **before.until(Ticks.now()), **seen})


def _links(cluster: KafkaCluster) -> dict[str, Any]:
    """By how much measured round-trip times between racks are off, as the largest share; nothing without delays."""
    if not cluster.state.spec.links:
        return {}
    seen = cluster.links.measure(_RTT_SAMPLES)
    return {"rtt_off": round(max(s.off for s in seen), 3), "rtt": [s.as_dict() for s in seen]}


def _answered(client: LoadProcess) -> None:
    """Waits until the paused client has an answer for all it sent: the next mode must not share with its backlog."""
    after = len(client.lines)

    def probe() -> bool | Pending:
        line = next((line for line in reversed(client.lines[after:]) if line["event"] == "second"), None)
        left = None if line is None else line["unanswered"]
        return left == 0 or Pending("no status line" if left is None else f"{left} records without an answer")

    wait_for("the client's last answers", probe, 120)


def _collect(run: RunFolder, cluster: KafkaCluster, topics: list[str]) -> None:
    for node in cluster.select("brokers"):
        rows = fetches.parse(node.host.read(node.debug_file).splitlines(), topics)
        if rows.num_rows:
            run.add_fetches(rows, node.name)
