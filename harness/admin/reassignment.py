"""Replicas and leaders moved on request, as an operator does; waits until it is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from kafka import KafkaAdminClient, TopicPartition

from harness.cluster.cluster_view import Partition
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import RackspanError
from harness.common.wait import Pending, wait_for

Places = Mapping[int, Sequence[int]]  # partition -> ids of its replicas, the preferred leader first
SECONDS = 120.0
_PREFERRED = 0  # the kind of election, in Kafka's protocol


def places(cluster: KafkaCluster, topic: str) -> dict[int, list[int]]:
    """The current replicas of a topic. Raises RackspanError if there is no such topic."""
    found = {p.partition: list(p.replicas) for p in _partitions(cluster, topic)}
    if not found:
        known = sorted({p.topic for p in cluster.view().partitions})
        raise RackspanError(
            f"topic {topic!r} not found", observed=f"topics: {', '.join(known) or 'none'}", do="name one of them"
        )
    return found


def reassign(cluster: KafkaCluster, topic: str, wanted: Places, seconds: float = SECONDS) -> None:
    """Gives partitions these replicas and waits until all have them, in sync. Raises RackspanError."""
    submit(cluster, topic, wanted)
    wait_reassigned(cluster, topic, wanted, seconds)


def submit(cluster: KafkaCluster, topic: str, wanted: Places) -> None:
    """Requests these replicas of partitions, and does not wait. Raises RackspanError where that is refused."""
    with _client(cluster) as admin:
        requested = {TopicPartition(topic, p): list(ids) for p, ids in wanted.items()}
        refused = {tp: e for tp, e in admin.alter_partition_reassignments(requested).items() if e is not None}
    if refused:
        where, error = next(iter(refused.items()))
        raise RackspanError(
            f"cannot move replicas of {topic}-{where.partition} to brokers {', '.join(map(str, requested[where]))}",
            observed=getattr(error, "__name__", str(error)),
            do="name brokers that run, each once",
        )


def wait_reassigned(cluster: KafkaCluster, topic: str, wanted: Places, seconds: float = SECONDS) -> None:
    """Waits until partitions have these replicas, in sync. Raises WaitTimeout."""

    def done() -> bool | Pending:
        late = [
            f"{p.partition} on {p.replicas}, in sync {p.isr}"
            for p in _partitions(cluster, topic)
            if p.partition in wanted and (list(p.replicas) != list(wanted[p.partition]) or len(p.isr) < len(p.replicas))
        ]
        return Pending("; ".join(late)) if late else True

    wait_for(f"the replicas of {topic} to be moved", done, seconds)


def lead(cluster: KafkaCluster, topic: str, partitions: Sequence[int], seconds: float = 60.0) -> None:
    """Elects the preferred leaders and waits until they lead; one that is not in sync yet is given time to be.

    Raises WaitTimeout.
    """

    def done() -> bool | Pending:
        late = [p for p in _partitions(cluster, topic) if p.partition in partitions and p.leader != p.replicas[0]]
        if not late:
            return True
        with _client(cluster) as admin:
            admin.elect_leaders(_PREFERRED, {topic: [p.partition for p in late]}, raise_errors=False)
        words = [f"{p.partition} led by {p.leader}, not {p.replicas[0]}, in sync {p.isr}" for p in late]
        return Pending("; ".join(words))

    wait_for(f"the preferred leaders of {topic} to lead", done, seconds, every=0.3)


def _partitions(cluster: KafkaCluster, topic: str) -> list[Partition]:
    return [p for p in cluster.view().partitions if p.topic == topic]


@contextmanager
def _client(cluster: KafkaCluster) -> Iterator[KafkaAdminClient]:
    cluster.backend.enter()
    admin = KafkaAdminClient(bootstrap_servers=cluster.alive_brokers(), client_id="rackspan")
    try:
        yield admin
    finally:
        admin.close()
