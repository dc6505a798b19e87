"""Settings that clusters start from: small-machine sizes, and two profiles of fault-detection times."""

from __future__ import annotations

from typing import Literal

Profile = Literal["fast-failover", "kafka-defaults"]

# Detection of a dead broker is governed by the session time-out, that of a slow one by replica.lag.time.max.ms.
FAST_FAILOVER = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "300",
    "replica.lag.time.max.ms": "2000",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "200",
    "controller.quorum.request.timeout.ms": "1000",
    "replica.fetch.backoff.ms": "200",
    "replica.socket.timeout.ms": "2000",
}

TIMEOUTS: dict[Profile, dict[str, str]] = {"fast-failover": FAST_FAILOVER, "kafka-defaults": {}}

# Heaps of a few hundred MB and two cores for nine processes: the cleaner's default buffer alone is 128 MB.
SMALL_MACHINE = {
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.cleaner.threads": "1",
    "offsets.topic.num.partitions": "6",
    "transaction.state.log.num.partitions": "6",
    "share.coordinator.state.topic.num.partitions": "6",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    # An idle controller otherwise writes a record every 500 ms, which every node of the cluster fetches and stores.
    "metadata.max.idle.interval.ms": "10000",
}


def internal_topics(brokers: int) -> dict[str, str]:
    """Replication of the internal topics: 3, or fewer where there are fewer brokers."""
    replicas = str(min(3, brokers))
    least = str(min(2, brokers))
    return {
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": least,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": least,
    }
