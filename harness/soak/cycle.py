"""One evaluated run: load on a topic of its own, faults, healing, and everything read back for the checker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.admin.topics import MIN_RACKS, MIN_REPLICAS, Topics
from harness.benchmark.load_clients import LoadClients, load_clients
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.progress import Progress
from harness.common.wait import Pending, wait_for
from harness.hosts.host import ProcessState
from harness.load.client import LoadClient
from harness.load.command import Produce
from harness.load.resident import ResidentClient
from harness.recording.metadata_timeline import read_timeline
from harness.recording.observer import Observer
from harness.recording.replica_logs import read_replicas
from harness.run_folder.run_folder import RunFolder
from harness.soak.inject import FaultPlace


def run_cycle(
    runs: Path,
    name: str,
    cluster: KafkaCluster,
    resident: ResidentClient,
    story: Callable[[FaultPlace], None],
    *,
    seed: int,
    assignment: Sequence[Sequence[int]],
    min_racks: int,
    min_replicas: int = 2,
    rate: float = 100,
    reported: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Writes to a new topic while `story` plays, heals, reads all, and returns the run folder.

    Two producers with acks=all: one repeats until its records are in, one never repeats and so knows which are not.
    One writes in transactions and aborts some, unless two brokers share a rack: the topic of the transactions' states
    needs no number of racks, and could lose what both of them had acknowledged. Where the distribution has
    acks=min.insync.replicas, another one with these repeats, and at level 2 of rackspan.version the transactions have
    them too: below it, they may lose records.
    `min_racks` 0: the topic gets no such setting, as the stock distribution has none. Raises RackspanError.
    """
    progress = progress or Progress()
    settings = {MIN_REPLICAS: min_replicas} | ({MIN_RACKS: min_racks} if min_racks else {})
    spec = {"cluster": cluster.state.spec.model_dump(), "topic": name, "rate": rate, **settings, **(reported or {})}
    with RunFolder.create(runs, name, kind="other", seed=seed, spec=spec) as run:
        distribution = cluster.distribution
        run.update(versions={"distribution": distribution.version}, patches=distribution.patches)
        topics = Topics(cluster.bootstrap)
        topics.create(name, assignment, **{key.replace(".", "_"): value for key, value in settings.items()})
        cluster.wait_in_sync()
        with load_clients(run, resident) as load, Observer(run, name, len(assignment), lambda: _bootstrap(cluster)):
            with progress.step("load"):
                producers = _start(load, cluster, name, rate)
                moves_on(producers[0], 0)
            story(FaultPlace(cluster, run, name, min_replicas))
            cluster.wait_in_sync()
            with run.phase("healed"), progress.step("writes after healing"):
                moves_on(producers[0], _acked(producers[0]))
                for producer in producers:
                    commits(producer)
            load.stop()
            with progress.step("replicas read"):
                read_replicas(cluster, run, name, dict(enumerate(map(list, assignment))))
                # Last: by now the high watermark has come to the end of the logs.
                load.read_back(name, cluster, "read_committed")
        with progress.step("metadata log read"):
            read_timeline(cluster, run, [name])
    return run.path


def cycle_producers(bootstrap: str, topic: str, rate: float, level: int) -> list[Produce]:
    """The producers of a cycle on a cluster at that level of rackspan.version; all start paused."""
    plain = Produce("patient", bootstrap, topic, Path(), rate=rate, start_paused=True, close_seconds=40)
    patient = replace(plain, delivery_timeout_ms=120_000)
    made = [patient, replace(plain, producer="no-retry", delivery_timeout_ms=5000, retries=0)]
    in_transactions = replace(patient, producer="transactional", transaction_records=20, abort_every=5)
    if level < 1:
        return [*made, in_transactions]
    quorum = replace(patient, producer="quorum", acks="min.insync.replicas", idempotence=True)
    return [*made, quorum, replace(in_transactions, acks=quorum.acks if level >= 2 else "all")]


def _start(load: LoadClients, cluster: KafkaCluster, topic: str, rate: float) -> list[LoadClient]:
    requested = cycle_producers(cluster.bootstrap, topic, rate, cluster.formatted_level)
    brokers = cluster.plan.brokers
    if len({node.rack for node in brokers}) < len(brokers):
        requested = [produce for produce in requested if not produce.transaction_records]
    started = [load.start(produce, cluster) for produce in requested]
    for process in started:
        process.resume()
    return started


def _bootstrap(cluster: KafkaCluster) -> str:
    """All brokers but paused ones, which accept a client and then keep it waiting."""
    brokers = cluster.select("brokers")
    return ",".join(n.node.endpoint for n in brokers if n.look()[1] is not ProcessState.PAUSED)


def moves_on(client: LoadClient, before: int) -> None:
    """Waits until the client has at least 100 acknowledgements more. Raises WaitTimeout."""

    def probe() -> bool | Pending:
        now = _acked(client)
        return now >= before + 100 or Pending(f"{now} acknowledged, {before} before")

    wait_for("100 acknowledgements", probe, 120)


def commits(client: LoadClient) -> None:
    """Waits until the client has committed a transaction that it began after now, if it writes in transactions.

    Raises WaitTimeout.
    """
    if not client.wait_line("started", 0)["transaction_records"]:
        return
    before = _committed(client)
    # The first one may be under way.
    wait_for("two commits", lambda: _committed(client) >= before + 2 or Pending(f"{_committed(client)}, not more"), 120)


def _committed(client: LoadClient) -> int:
    return sum(1 for line in client.lines if line["event"] == "transaction" and line["outcome"] == "COMMITTED")


def _acked(client: LoadClient) -> int:
    return next((int(line["acked"]) for line in reversed(client.lines) if line["event"] == "second"), 0)
