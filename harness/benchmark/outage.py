"""A rack outage with real producers: refused, lowered, resumed, restored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.admin.topics import MIN_RACKS, Topics
from harness.benchmark.load_clients import LoadClients, load_clients, resident_of
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.progress import Progress
from harness.common.wait import Pending, pause, wait_for
from harness.faults.rack import rack_down
from harness.load.client import LoadClient
from harness.load.command import Produce
from harness.recording import predicted_losses
from harness.recording.metrics import Sampler
from harness.run_folder.run_folder import RunFolder
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.replica_assignment import assignment

TOPIC = "orders"
RACKS = ("a", "b")
LOST_RACK = "b"
NEEDED = 2


@dataclass(frozen=True)
class Stretches:
    """Seconds that each part lasts once its condition holds."""

    steady: float = 8
    refused: float = 12
    lowered: float = 8
    restored: float = 6


def run_outage(
    runs: Path,
    *,
    spec: ClusterSpec | None = None,
    rate: float = 100,
    stretches: Stretches | None = None,
    campaign: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Brings a cluster up, takes a rack away under load, and returns the run folder; about 70 s.

    Three producers with acks=all differ in patience: one waits through the outage, one gives a record up after 3 s, one
    never retries and so shows every refusal as it comes. Raises RackspanError; the run folder is then marked failed.
    """
    progress = progress or Progress()
    spec = spec or ClusterSpec(name="outage")  # type: ignore[call-arg]
    times = stretches or Stretches()
    reported: dict[str, Any] = {
        "cluster": spec.model_dump(),
        "topic": TOPIC,
        MIN_RACKS: NEEDED,
        "rate": rate,
        "stretches": vars(times),
    }
    reported["campaign"] = campaign or {}
    with (
        RunFolder.create(runs, "outage", kind="outage", spec=reported) as run,
        KafkaCluster.running(spec, progress=progress) as cluster,
        resident_of(cluster) as resident,
        load_clients(run, resident) as load,
    ):
        run.update(versions={"distribution": cluster.distribution.version}, patches=cluster.distribution.patches)
        # An admin client remembers one broker; were that in the lost rack, a change would wait for it in vain.
        topics = Topics(",".join(n.endpoint for n in cluster.plan.brokers if n.rack != LOST_RACK))
        replicas = assignment([n for n in cluster.plan.brokers if n.rack in RACKS])
        topics.create(TOPIC, replicas, min_insync_racks=NEEDED, min_insync_replicas=2)
        cluster.wait_in_sync()
        predicted_losses.record(cluster, run, [TOPIC])
        sampler = Sampler(cluster.plan.brokers, run)
        sampler.start()
        try:
            with progress.step("producers started"):
                witness = _start(load, cluster, rate)
            _story(cluster, topics, run, witness, times, progress)
            with progress.step("producers stopped"):
                load.stop()
        finally:
            sampler.stop()
        with progress.step("topic read back"):
            rows = load.read_back(TOPIC, cluster)
        progress.note(f"{rows} records read back")
    return run.path


def _start(load: LoadClients, cluster: KafkaCluster, rate: float) -> LoadClient:
    """The three producers, sending from the same moment on; returns the one that never retries."""
    plain = Produce("patient", cluster.bootstrap, TOPIC, Path(), rate=rate, start_paused=True, close_seconds=20)
    requested = [
        replace(plain, delivery_timeout_ms=60_000),
        replace(plain, producer="impatient", delivery_timeout_ms=3000),
        replace(plain, producer="no-retry", delivery_timeout_ms=5000, retries=0),
    ]
    started = [load.start(produce, cluster) for produce in requested]
    for process in started:
        process.resume()
    return started[-1]


def _story(
    cluster: KafkaCluster,
    topics: Topics,
    run: RunFolder,
    witness: LoadClient,
    times: Stretches,
    progress: Progress,
) -> None:
    with run.phase("steady"), progress.step(f"steady for {times.steady:g} s"):
        _acknowledged(witness, 0)
        pause(times.steady)
    with rack_down(cluster, LOST_RACK, events=run):
        with run.phase("refused"), progress.step(f"rack {LOST_RACK} down, writes refused for {times.refused:g} s"):
            wait_for("a refusal for want of racks", lambda: _errors(witness, "NOT_ENOUGH_RACKS"), 30)
            pause(times.refused)
        with run.phase("lowered"), progress.step(f"{MIN_RACKS} lowered to 1, writes resume"):
            before = _total(witness)
            _set(topics, run, NEEDED, 1)
            _acknowledged(witness, before)
            pause(times.lowered)
    with run.phase("recovering"):
        cluster.wait_in_sync()
        run.event("note", "isr-restored", "point", {"topic": TOPIC})
    with run.phase("restored"), progress.step(f"{MIN_RACKS} restored to {NEEDED}"):
        before = _total(witness)
        _set(topics, run, 1, NEEDED)
        _acknowledged(witness, before)
        pause(times.restored)


def _set(topics: Topics, run: RunFolder, old: int, new: int) -> None:
    """Changes min.insync.racks; the event comes first, so that nothing which follows from it can seem to precede it."""
    run.event("config", MIN_RACKS, "point", {"topic": TOPIC, "from": old, "to": new})
    topics.set(TOPIC, MIN_RACKS, new)


def _acknowledged(client: LoadClient, before: int) -> None:
    """Waits until status lines of the client report more acknowledgements than before."""

    def probe() -> bool | Pending:
        now = _total(client)
        return now > before or Pending(f"{now} acknowledged, {before} before")

    wait_for("acknowledgements to come", probe, 30)


def _total(client: LoadClient) -> int:
    return next((int(line["acked"]) for line in reversed(client.lines) if line["event"] == "second"), 0)


def _errors(client: LoadClient, name: str) -> bool | Pending:
    errors: dict[str, int] = next((line["errors"] for line in reversed(client.lines) if line["event"] == "second"), {})
    return any(name in error for error in errors) or Pending(f"errors so far: {errors}")
