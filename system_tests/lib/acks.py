"""Shared by the tests of acks=min.insync.replicas: names of metrics, clusters that bear a paused follower, changes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from harness.admin.topics import Topics
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks, LoadService
from harness.ducktape_support.steered_service import Row
from harness.recording.metrics import total
from harness.recording.segments import end_offset
from harness.run_folder.run_folder import RunFolder

QUORUM = "min.insync.replicas"  # acks as its name, and as metrics label it
NUMBER = "-2"  # the same on the wire, and for clients that know numbers only

ABOVE_RECORDS = "kafka_server_ReplicaManager_AckedAboveHighWatermarkRecords"
ABOVE_BYTES = "kafka_server_ReplicaManager_AckedAboveHighWatermarkBytes"
ABOVE_TOTAL = "kafka_server_ReplicaManager_AckedAboveHighWatermarkRecordsPerSec_total"
ABOVE_PARTITION = "kafka_cluster_Partition_AckedAboveHighWatermarkRecords"
REQUESTS = "kafka_server_ProduceAcks_Requests_total"
LATENCY_MS = "kafka_server_ProduceAcks_LatencyMs"  # by acks and stat

# A paused broker stays registered and in sync for longer than any test keeps it paused.
LASTING = {"broker.session.timeout.ms": 240000, "replica.lag.time.max.ms": 240000}

# A dead broker is missed soon, one on a machine that stalls for some seconds is not.
CALM = {"broker.session.timeout.ms": 6000, "replica.lag.time.max.ms": 6000}

# A request that waits must not be sent again while it does: a client that is not idempotent would write twice.
ENDURING = {"request_timeout_ms": 80000, "delivery_timeout_ms": 80000}


def requests(kafka: KafkaRacks) -> dict[str, int]:
    """Produce requests answered by the running brokers, by the acks that clients sent."""
    samples = kafka.samples()
    return {acks: int(total(samples, REQUESTS, acks=acks)) for acks in (QUORUM, "all", "0", "1")}


def median_ms(rows: Iterable[Row]) -> float:
    """Median latency of acknowledged records in milliseconds, from when each was due."""
    return float(statistics.median((r["done_ns"] - r["due_ns"]) / 1e6 for r in rows))


def holds(kafka: KafkaRacks, broker: int, topic: str, records: int) -> bool | Pending:
    """True if the broker has that many records of the topic's first partition on disk."""
    end = end_offset(kafka.broker(broker), topic)
    return end >= records or Pending(f"{end} of {records}")


def follows(kafka: KafkaRacks, node: str, topic: str) -> bool | Pending:
    """True if that broker has given the topic up, so that nobody can fetch from it any more.

    Its log says so, since a broker that shuts down may close its metrics and its listener at any time.
    """
    reported = kafka.logged(node, rf"Follower {topic}-0 starts at leader epoch", ["state-change.log"])
    return bool(reported) or Pending("its log does not say so")


def set_during_pause(kafka: KafkaRacks, run: RunFolder, topic: str, name: str, value: object) -> None:
    """Changes a setting while a broker is paused: if an admin client happens to ask that one, another is tried."""

    def changed() -> bool:
        Topics(kafka.bootstrap, run, seconds=5).set(topic, name, value)
        return True

    wait_for(f"{name} of {topic} to be set to {value}", changed, 60)


def wait_acknowledged(producer: LoadService, since_ns: int, records: int) -> Acks:
    """Waits until that many records due after a moment are acknowledged; returns all that were due after it."""

    def probe() -> Acks | Pending:
        due = producer.records().due(since_ns)
        return due if len(due.ok) >= records else Pending(f"{due.counts}")

    return wait_for(f"{records} acknowledged to {producer.produce.producer}", probe, 60)


def wait_answered(producer: LoadService) -> Acks:
    """Waits until no record that was sent is without an answer; returns all of them."""

    def probe() -> Acks | Pending:
        sent = producer.records()
        return sent if all(r["result"] for r in sent.rows) else Pending(f"{sent.counts}")

    return wait_for(f"{producer.produce.producer} to be answered", probe, 60)
