"""A benchmark: modes of writing take turns on one cluster, in blocks (measuring in pairs of blocks)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.admin.reassignment import lead
from harness.admin.topics import Topics
from harness.benchmark.calm import wait_until_calm
from harness.benchmark.cpu_usage import CpuTicks
from harness.benchmark.earlier_runs import earlier_runs
from harness.benchmark.load_clients import LoadClients, load_clients, priority
from harness.benchmark.plan import fault_first, planned, take_turns
from harness.benchmark.stalls import stall_seed, stalled
from harness.benchmark.validity import late, reasons, saturated, too_late
from harness.benchmark.workload import BlockFault, Limits, Mode, Ramp, Workload
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.jvm_flags import QUICK
from harness.common.progress import Progress
from harness.common.wait import Pending, pause, wait_for
from harness.faults.process import nodes_down
from harness.load.client import LoadClient
from harness.load.command import Produce
from harness.recording import awaited_sets, electable_sets, follower_fetches
from harness.run_folder.run_folder import RunFolder
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.rackspan_level import at_level

_RTT_SAMPLES, _RTT_ROUNDS = 15, 4
_JVM = {"quick": QUICK, "full": ("-XX:+UseSerialGC",)}
_HEAP, _RAMP_HEAP = "-Xmx256m", "-Xmx640m"  # beyond what a mode can do, producers' buffers are full
_CALM, _CALM_SAMPLES = 0.5, 12  # share of the processors; at most a minute
_HERE = ("local", "netns")  # backends whose processes are those of this machine
_LONG_S = 1e7  # a client that counts needs no room for its records


@dataclass(frozen=True)
class ModeRun:
    """A mode with the cluster it writes to and its client, warm and paused while others are measured.

    `topics` asks no broker that a fault takes away. `pid` is that of the client.
    """

    mode: Mode
    cluster: KafkaCluster
    topics: Topics
    client: LoadClient
    replicas: int
    pid: int

    def pids(self) -> list[int] | None:
        """The processes that work only for this mode and its neighbours on the same cluster; None where they are not
        this machine's.
        """
        return None if self.cluster.backend.name not in _HERE else [self.pid, *self._pids_of("all")]

    def broker_pids(self) -> list[int]:
        """The brokers that run, without their controllers; none where they are not this machine's processes."""
        return [] if self.cluster.backend.name not in _HERE else self._pids_of("brokers")

    def _pids_of(self, nodes: str) -> list[int]:
        processes = [node.look()[0] for node in self.cluster.select(nodes)]
        return [process.pid for process in processes if process is not None]


def run_bench(
    runs: Path,
    workload: Workload,
    *,
    seed: int | None = None,
    campaign: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Brings the clusters up, measures every mode in every round, and returns the run folder.

    The order of the modes is shuffled by `seed` in one round and turned round in the next; the manifest has it, and the
    rest of the plan, before anything starts. `campaign` is kept in the manifest: runs of one campaign are reported on
    together. Raises RackspanError; the run folder is then marked failed.
    """
    progress = progress or Progress()
    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    kinds = list(dict.fromkeys(m.cluster for m in workload.modes))
    specs = {kind: cluster_spec(workload, *kind, number) for number, kind in enumerate(kinds)}
    name, place = f"bench-{workload.name}", campaign or {}
    plan = planned(workload, seed, earlier_runs(runs, name, str(place.get("id", ""))))
    with RunFolder.create(runs, name, kind="bench", seed=seed, plan=plan) as run, ExitStack() as stack:
        clusters = {kind: stack.enter_context(KafkaCluster.running(s, progress=progress)) for kind, s in specs.items()}
        run.update(
            spec={**_reported(workload, clusters), "campaign": place},
            versions={kind: c.distribution.version for (kind, _), c in clusters.items()},
            patches=[name for c in clusters.values() for name in c.distribution.patches],
        )
        load = stack.enter_context(load_clients(run))
        with progress.step(f"{len(workload.modes)} topics and warm clients"):
            mode_runs = [_mode_run(workload, mode, clusters[mode.cluster], load, seed) for mode in workload.modes]
            for cluster in clusters.values():
                cluster.wait_in_sync()
        for cluster in clusters.values():
            cluster.progress = Progress()  # one line a block is enough
        _warm_up(run, mode_runs, workload, progress)

        def turn(block: int, number: int, mode: int) -> list[str]:
            return _turn(run, workload, mode_runs[mode], block, number, seed, progress)

        take_turns(workload.blocks, len(mode_runs), seed, turn)
        with progress.step("clients stopped"):
            load.stop()
        if workload.oracle:
            with progress.step("fetches of the followers collected"):
                for cluster in clusters.values():
                    _collect(run, cluster, [m for m in mode_runs if m.cluster is cluster])
    return run.path


def cluster_spec(workload: Workload, distribution: str, level: int | None, number: int) -> ClusterSpec:
    """The workload's cluster with one of its distributions and levels; they run mode_run by mode_run."""
    changes: dict[str, Any] = {"name": f"bench-{number}-{workload.name}"[:40].rstrip("-"), "distribution": distribution}
    if level is not None:
        changes["features"] = workload.cluster.features | at_level(level)["features"]
    if workload.oracle:
        changes["debug"] = [*workload.cluster.debug, *follower_fetches.LOGGERS, *awaited_sets.LOGGERS]
    return workload.cluster.model_copy(update=changes)


def _reported(workload: Workload, clusters: Mapping[tuple[str, int | None], KafkaCluster]) -> dict[str, Any]:
    """The manifest's spec for the analysis: the workload with all defaults, with the level of rackspan.version of each
    mode's cluster, and the racks of the brokers.
    """
    brokers = {str(n.id): n.broker_rack for c in clusters.values() for n in c.plan.brokers}
    modes = [
        {**m.model_dump(), "label": m.shown, "role": m.recorded_role, "level": clusters[m.cluster].formatted_level}
        for m in workload.modes
    ]
    backend = next(iter(clusters.values())).backend.name
    return {
        "workload": {**workload.model_dump(mode="json"), "modes": modes},
        "broker_racks": brokers,
        "rtt_ms": workload.rtt_ms(),
        "backend": backend,
        "client_niceness": priority(),
    }


def _mode_run(workload: Workload, mode: Mode, cluster: KafkaCluster, load: LoadClients, seed: int) -> ModeRun:
    broken = {n.id for n in workload.faulted(cluster.plan.brokers)}
    # A client that asks a paused broker for metadata waits for it: it never hears of one before it is warm.
    bootstrap = ",".join(n.endpoint for n in cluster.plan.brokers if n.id not in broken)
    replicas = workload.replicas(cluster.plan.brokers, without=broken if mode.role == "unaffected" else set())
    cluster.backend.enter()  # another cluster may have a network of its own with the same addresses
    topics = Topics(bootstrap)
    topics.create(mode.name, replicas, **workload.topic.settings, **mode.topic)
    produce = Produce(
        mode.name,
        bootstrap,
        mode.name,
        Path(),
        rate=workload.ramp.rates[0] if workload.ramp else workload.load.rate,
        duration=_LONG_S if workload.record == "histogram" else 3600,
        arrivals=workload.load.arrivals,
        seed=seed,
        size=workload.load.size,
        acks=mode.acks,
        connections=workload.load.connections,
        unanswered_kib=workload.load.unanswered_kib,
        start_paused=True,
        close_seconds=20,
        histogram=workload.record == "histogram",
        consume=workload.consume,
    )
    leader = next(n.name for n in cluster.plan.brokers if n.id == replicas[0][0])
    jvm = (*_JVM[cluster.state.spec.jvm], _RAMP_HEAP if workload.ramp else _HEAP)
    client = load.start(produce, cluster, jvm=jvm, nice=priority(), beside=cluster.node(leader))
    return ModeRun(mode, cluster, topics, client, min(map(len, replicas)), client.wait_line("started", 60)["pid"])


def _warm_up(run: RunFolder, mode_runs: list[ModeRun], workload: Workload, progress: Progress) -> None:
    """All modes at once: compiled code and filled caches are wanted here, not numbers. A closed loop goes as fast as it
    is going to be measured: what it cannot send leaves no backlog.
    """
    seconds = workload.blocks.warmup
    rates = workload.ramp.rates if workload.ramp and workload.load.unanswered_kib else []
    with progress.step(f"all modes warmed up for {seconds:g} s"):
        for mode_run in mode_runs:
            run.event("phase", "warmup", "begin", {"mode": mode_run.mode.shown, "producer": mode_run.mode.name})
            if rates:
                mode_run.client.set_rate(rates[-1])
            mode_run.client.resume()
        pause(seconds)
        for mode_run in mode_runs:
            mode_run.client.pause()
            if rates:
                mode_run.client.set_rate(rates[0])
            run.event("phase", "warmup", "end", {"mode": mode_run.mode.shown, "producer": mode_run.mode.name})
    for mode_run in mode_runs:
        _answered(mode_run.client)


def _turn(
    run: RunFolder, workload: Workload, mode_run: ModeRun, number: int, pair: int, seed: int, progress: Progress
) -> list[str]:
    """Returns why the block is invalid."""
    mode, plan = mode_run.mode, workload.blocks
    mode_run.cluster.backend.enter()
    data = {"block": number, "pair": pair, "mode": mode.shown, "role": mode.recorded_role, "producer": mode.name}
    total = plan.rounds * len(workload.modes)
    place = f"block {number + 1} of {total}" if number < total else f"block {number + 1}, for one that is invalid"
    with progress.step(f"{place}, round {pair + 1}: {mode.shown}"):
        mode_run.client.resume()
        pause(plan.settle)
        data |= _links(mode_run.cluster)
        if workload.ramp is not None:
            invalid = _ramp(run, workload, workload.ramp, mode_run, data, seed)
        elif workload.fault is None:
            invalid = _quiet(run, workload, mode_run, data, seed)
        elif fault_first(pair, seed):
            invalid = _broken(run, workload, workload.fault, mode_run, data, seed)
            _rest(workload, mode_run)
            mode_run.client.resume()
            pause(plan.settle)
            invalid = invalid + _quiet(run, workload, mode_run, data, seed)
        else:
            invalid = _quiet(run, workload, mode_run, data, seed)
            pause(plan.settle)  # what was due last in the part above has its answer before something breaks
            invalid = invalid + _broken(run, workload, workload.fault, mode_run, data, seed)
        _rest(workload, mode_run)
    for reason in dict.fromkeys(invalid):
        progress.note(f"  invalid: {reason}")
    return invalid


def _quiet(run: RunFolder, workload: Workload, mode_run: ModeRun, data: dict[str, Any], seed: int) -> list[str]:
    part = {**data, "part": "quiet"}
    invalid: list[str] = _part(run, workload, mode_run, part, workload.blocks.seconds, seed)["invalid"]
    return invalid


def _rest(workload: Workload, mode_run: ModeRun) -> None:
    """Pauses the mode; everything has its answer, and what was broken is as before."""
    mode_run.client.pause()
    _answered(mode_run.client)
    if workload.fault is not None:
        _healed(workload, mode_run)


def _broken(
    run: RunFolder, workload: Workload, fault: BlockFault, mode_run: ModeRun, data: dict[str, Any], seed: int
) -> list[str]:
    names = [n.name for n in workload.faulted(mode_run.cluster.plan.brokers)]
    with nodes_down(mode_run.cluster, names, how=fault.how, events=run, name=f"{fault.how} {fault.target}"):
        invalid: list[str] = _part(run, workload, mode_run, {**data, "part": "fault"}, fault.seconds, seed)["invalid"]
    pause(fault.recover)
    return invalid


def _healed(workload: Workload, mode_run: ModeRun) -> None:
    """All is as it was before the fault: replicas in sync, and led from where they shall be."""
    mode_run.cluster.wait_in_sync()
    if workload.fault is not None and workload.fault.how == "kill" and mode_run.cluster.backend.name in _HERE:
        wait_until_calm(_CALM, _CALM_SAMPLES)  # a broker that starts takes the processors of the next block
    if workload.leaders_fail:
        for mode in [m for m in workload.modes if m.cluster == mode_run.mode.cluster]:
            lead(mode_run.cluster, mode.name, range(workload.topic.partitions))


def _ramp(
    run: RunFolder, workload: Workload, ramp: Ramp, mode_run: ModeRun, data: dict[str, Any], seed: int
) -> list[str]:
    """One rate after the other, until one is beyond what the mode can do. Returns why any of them is invalid."""
    first: dict[str, Any] = {}
    invalid: list[str] = []
    for rate in ramp.rates:
        mode_run.client.set_rate(rate)
        pause(workload.blocks.settle)
        step = {**data, "part": f"rate-{rate:.10g}", "rate": rate}
        reported = _part(run, workload, mode_run, step, workload.blocks.seconds, seed, first)
        first = first or reported
        invalid += reported["invalid"]
        if reported["beyond"]:
            break
    mode_run.client.set_rate(ramp.rates[0])
    return invalid


def _part(
    run: RunFolder,
    workload: Workload,
    mode_run: ModeRun,
    data: dict[str, Any],
    seconds: float,
    seed: int,
    first: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Measures for so long; returns what was observed. `first` is what was observed at a ramp's first rate."""
    pids, brokers = mode_run.pids(), mode_run.broker_pids()
    before = CpuTicks.now(pids)
    run.event("phase", "block", "begin", data)
    begun = mode_run.client.begin(f"{data['block']}/{data['part']}")
    with stalled(mode_run.cluster, workload.stalls, stall_seed(seed, data["pair"], data["part"])) as stalls:
        pause(seconds)
    after = CpuTicks.now(pids)
    observed: dict[str, Any] = {**before.until(after), **stalls}
    if brokers:
        observed["brokers_cpu_s"] = before.seconds_of(brokers, after)
    if data["part"] == "fault":
        observed |= {"isr": mode_run.topics.in_sync(mode_run.mode.name), "replicas": mode_run.replicas}
    ended = mode_run.client.end()
    took, acked = (ended["mono_ns"] - begun["mono_ns"]) / 1e9, ended["acked"] - begun["acked"]
    observed |= {"acked": acked, "acked_per_s": round(acked / took, 1), "lag_p99_us": ended["lag_p99_us"]}
    if workload.ramp is not None:
        observed["p99_us"] = ended["p99_us"]
        observed["beyond"] = beyond(workload.ramp, workload.limits, data["rate"], observed, first or observed)
    observed["invalid"] = reasons(workload, data | observed)
    observed["saturated"] = saturated(workload.limits, observed)
    run.event("phase", "block", "end", {**data, **observed})
    observed["invalid"] += late(workload, observed)
    return observed


def beyond(ramp: Ramp, limits: Limits, rate: float, observed: dict[str, Any], first: dict[str, Any]) -> str:
    """The reason why a rate is beyond what a mode can do; empty where it is not."""
    if observed["acked_per_s"] < ramp.answered * rate:
        return f"{observed['acked_per_s']:,.0f} of {rate:,.0f} records a second were answered"
    if behind := too_late(limits, observed["lag_p99_us"]):
        return behind
    if observed["p99_us"] and first["p99_us"] and observed["p99_us"] > ramp.times * first["p99_us"]:
        return f"p99 was {observed['p99_us'] / 1000:,.1f} ms, {first['p99_us'] / 1000:,.1f} ms at the first rate"
    return ""


def _links(cluster: KafkaCluster) -> dict[str, Any]:
    """The largest share by which measured round-trip times between racks are off; nothing without delays."""
    if not cluster.state.spec.links:
        return {}
    observed = cluster.links.tune(_RTT_SAMPLES, _RTT_ROUNDS)
    return {"rtt_off": round(max(s.off for s in observed), 3), "rtt": [s.as_dict() for s in observed]}


def _answered(client: LoadClient) -> None:
    """Waits until the paused client has an answer for all it sent: the next mode must not share with its backlog."""
    after = len(client.lines)

    def probe() -> bool | Pending:
        line = next((line for line in reversed(client.lines[after:]) if line["event"] == "second"), None)
        left = None if line is None else line["unanswered"]
        return left == 0 or Pending("no status line" if left is None else f"{left} records without an answer")

    wait_for("the client's last answers", probe, 120)


def _collect(run: RunFolder, cluster: KafkaCluster, mode_runs: Sequence[ModeRun]) -> None:
    """Follower fetches of the modes' topics, and what acks=min.insync.replicas waited for."""
    topics = [m.mode.name for m in mode_runs]
    steps = []
    for node in cluster.select("brokers"):
        lines = node.host.read(node.debug_file).splitlines()
        rows = follower_fetches.parse(lines, topics)
        if rows.num_rows:
            run.add_fetches(rows, node.name)
        steps += awaited_sets.parse(lines, topics)
    cluster.backend.enter()
    names = {m.topics.id(m.mode.name): m.mode.name for m in mode_runs}
    sets: dict[tuple[str, int], dict[int, tuple[int, ...] | None]] = {}
    for change in electable_sets.partition_changes(cluster):
        if change.topic_id in names:
            sets.setdefault((names[change.topic_id], change.partition), {})[change.epoch] = change.members
    run.event("note", "awaited-sets", data={"sets": awaited_sets.as_data(awaited_sets.awaited(steps, sets))})
