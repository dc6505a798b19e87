"""Racks change under load: a broker gets another label, replicas are moved into fewer racks and back."""

from __future__ import annotations

import json
from typing import Any

from harness.admin.reassignment import places, reassign, submit, wait_reassigned
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import LoadService
from harness.faults.rack import rack_down
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest

INCONSISTENT = "INCONSISTENT_REPLICA_CONFIGURATION"
TARGETS = {"ends": [1, 2, 4], "cancelled": [3, 4]}
REFUSED_CANCEL = (
    "Unable to cancel the reassignment of cancelled-0: of the in-sync replicas [1, 2, 3] only [1, 2] would be left, "
    "in 1 rack(s), but min.insync.replicas is 1 and min.insync.racks is 2."
)


class MovedRacks(RackTest):
    """Two brokers in rack a, one in b and one in c; a producer that repeats, and one that does not."""

    def test_a_wrong_label_is_corrected_without_a_lost_write(self) -> None:
        """Both replicas are in one rack for a while: that is retriable, since labels are corrected."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT), [expect.OVERTAKEN]) as kafka:
            topics = self.topics(kafka)
            topics.create("labels", [[1, 3]], min_insync_replicas=2, min_insync_racks=2)
            live = self.started(kafka, "live", "labels", delivery_timeout_ms=240000)
            label(kafka, "b1", "a")
            kafka.wait_in_sync("labels")
            refused = self.produce(kafka, "refused", "labels", 10, retries=0)
            expect.all_ended_with(refused, 10, expect.REFUSED)
            for broker in ("a1", "b1"):
                kafka.kafka.stop(broker)
                kafka.kafka.start(broker)
                kafka.wait_in_sync("labels")
            started_since = self.produce(kafka, "started-since", "labels", 10, retries=0)
            expect.all_ended_with(started_since, 10, expect.REFUSED)
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
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT), [expect.OVERTAKEN, expect.NEW_REPLICA]) as kafka:
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

    def test_a_move_in_an_outage_keeps_what_was_acknowledged_in_two_racks(self) -> None:
        """It ends when the rack is back, and is not cancelled where it adds the only replica of a second rack."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT), [expect.OVERTAKEN, expect.NEW_REPLICA]) as kafka:
            topics = self.topics(kafka)
            topics.create("ends", [[1, 3, 4]], min_insync_racks=2)
            topics.create("cancelled", [[1, 2, 4]], min_insync_racks=2)
            kept = {}
            with rack_down(kafka.kafka, "c", events=self.run):
                kafka.wait_in_sync("ends", {1, 3})
                kafka.wait_in_sync("cancelled", {1, 2})
                for topic, replicas in TARGETS.items():
                    submit(kafka.kafka, topic, {0: replicas})
                    kafka.wait_in_sync(topic, {1, 2, 3})
                    kept[topic] = self.produce(kafka, topic, topic, 20)
                    expect.all_acknowledged(kept[topic], 20)
                    assert 3 in places(kafka.kafka, topic)[0], "broker 3 is the only one in sync in another rack"
                refused = cancelled(kafka, "cancelled", TARGETS["cancelled"])
                assert REFUSED_CANCEL in refused, refused
            for topic, replicas in TARGETS.items():
                wait_reassigned(kafka.kafka, topic, {0: replicas})
                read = self.read(kafka, topic)
                expect.once_each([kept[topic]], read)
                assert len(read) == 20, f"{len(read)} in the log of {topic}"

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


def cancelled(kafka: KafkaRacks, topic: str, replicas: list[int]) -> str:
    """Cancel the reassignment of partition 0 with the tool; return its output."""
    node = kafka.node("a1")
    file = f"{node.properties_file}.reassignment.json"
    moves = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": replicas}]}
    node.host.write(file, json.dumps(moves))
    done = kafka.try_tool("kafka-reassign-partitions.sh", "--cancel", "--reassignment-json-file", file)
    return done.out + done.err
