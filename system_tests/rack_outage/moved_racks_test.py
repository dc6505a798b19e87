"""Racks change under load: a broker gets another label, replicas are moved into fewer racks and back."""

from __future__ import annotations

from typing import Any

from harness.admin.reassignment import reassign
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import LoadService
from harness.recording.log_errors import Allowed
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest

INCONSISTENT = "INCONSISTENT_REPLICA_CONFIGURATION"
NEW_REPLICA = Allowed(
    r"Expected partition moves-0 with topic id \S+ to exist, but it was missing\. Creating\.\.\.",
    "Kafka logs each replica that a reassignment adds as an error",
)


class MovedRacks(RackTest):
    """Two brokers in rack a, one in b and one in c; a producer that repeats, and one that does not."""

    def test_a_wrong_label_is_corrected_without_a_lost_write(self) -> None:
        """Both replicas are in one rack for a while: that is retriable, since labels are corrected."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT), [expect.OVERTAKEN], shared=False) as kafka:
            topics = self.topics(kafka)
            topics.create("labels", [[1, 3]], min_insync_replicas=2, min_insync_racks=2)
            live = self.started(kafka, "live", "labels", delivery_timeout_ms=240000)
            label(kafka, "b1", "a")
            kafka.wait_in_sync("labels")
            refused = self.produce(kafka, "refused", "labels", 10, retries=0)
            expect.all_ended_with(refused, 10, expect.REFUSED)
            waits = live.wait_totals("the producer to wait", lambda t: t["unanswered"] >= 20)
            assert not waits["errors"], waits
            label(kafka, "b1", "b")
            kafka.wait_in_sync("labels")
            live.wait_totals("the producer to be served again", lambda t: t["acked"] > waits["sent"])
            sent = live.end()
            expect.all_acknowledged(sent, len(sent))
            read = self.read(kafka, "labels")
            expect.once_each([sent], read)
            expect.in_order(read)
            assert len(read) == len(sent), f"{len(read)} in the log, {len(sent)} sent"

    def test_replicas_are_moved_into_fewer_racks_and_back(self) -> None:
        """A move to other racks is not noticed; in one rack nothing is acknowledged, until replicas are moved back."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT), [expect.OVERTAKEN, NEW_REPLICA]) as kafka:
            topics = self.topics(kafka)
            topics.create("moves", [[1, 3]], min_insync_replicas=2, min_insync_racks=2)
            live = self.started(kafka, "live", "moves", delivery_timeout_ms=240000)
            tried = self.started(kafka, "tried", "moves", retries=0)
            reassign(kafka.kafka, "moves", {0: [3, 4]})
            reassign(kafka.kafka, "moves", {0: [4, 1]})
            before = live.wait_totals("writes after both moves", lambda t: t["acked"] >= 50)
            assert not before["errors"], f"moves between racks were noticed: {before}"
            kept = live.end()
            expect.all_acknowledged(kept, len(kept))

            reassign(kafka.kafka, "moves", {0: [1, 2]})
            tried.wait_totals("refusals", lambda t: t["errors"].get(INCONSISTENT, 0) >= 20)
            late = self.produce(kafka, "late", "moves", 10, retries=0)
            expect.all_ended_with(late, 10, INCONSISTENT)
            reassign(kafka.kafka, "moves", {0: [1, 3]})
            back = self.produce(kafka, "back", "moves", 10)
            expect.all_acknowledged(back, 10)
            attempts = tried.end()
            read = self.read(kafka, "moves")
            expect.once_each([kept, back, attempts], read)
            expect.none_of(attempts.where(lambda r: r["result"] == INCONSISTENT), read)
            expect.none_of(late, read)

    def started(self, kafka: KafkaRacks, name: str, topic: str, **settings: Any) -> LoadService:
        """A producer that is served."""
        producer = self.producer(kafka, name, topic, rate=50, **settings)
        producer.wait_totals("the producer to be served", lambda t: t["acked"] >= 20)
        return producer


def label(kafka: KafkaRacks, name: str, rack: str) -> None:
    """Restarts a broker with another broker.rack, and nothing else changed."""
    kafka.kafka.stop(name)
    node = kafka.node(name)
    lines = node.host.read(node.properties_file).splitlines()
    changed = [f"broker.rack={rack}" if line.startswith("broker.rack=") else line for line in lines]
    node.host.write(node.properties_file, "\n".join(changed) + "\n")
    kafka.kafka.start(name)
