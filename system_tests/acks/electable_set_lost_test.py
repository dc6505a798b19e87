"""Every member of an electable set is killed at once: an in-sync replica that may lack what acks=min.insync.replicas
acknowledged is not elected, and an operator chooses who leads, as docs/operations/alerts.md says.
"""

from __future__ import annotations

from functools import partial

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import LoadService
from harness.faults.process import nodes_down
from harness.recording.metrics import scrape, total
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest
from system_tests.lib.electable_set import ElectableSet, choose_leader, electable_set, is_led
from system_tests.lib.kafka_racks import ask

MODES = {"quorum": acks.QUORUM, "all": "all"}
# A follower that is paused for less than a session stays in sync.
SETTINGS = {"broker.session.timeout.ms": 20000, "replica.lag.time.max.ms": 240000}
SECONDS = 120.0
RECORDS = 50
WAITING = "kafka_controller_KafkaController_PartitionsWithoutElectableReplicaCount"
LOST = ElectableSet(frozenset({1, 2}), frozenset({1, 2}))
CHOSEN = {"by-member": 1, "by-replica-in-sync": 3}
Producers = dict[str, LoadService]


class ElectableSetLost(RackTest):
    """Brokers 1 and 2 are the electable set of each topic, as broker 3 is paused when records are acknowledged."""

    def test_an_operator_chooses_who_leads(self) -> None:
        """A member that is chosen has all records, the replica in sync those of acks=all. Nobody is elected before."""
        spec = self.spec("a:1,b:1,c:1", settings=SETTINGS)
        with self.racks(spec, [expect.OVERTAKEN], shared=False) as kafka:
            topics = {topic: self.warm(kafka, topic) for topic in CHOSEN}
            self.lose(kafka, topics)
            for topic in topics:
                assert electable_set(kafka, topic) == LOST, topic
            code, status = ask(kafka, "status")
            assert code == 1
            found = {t["topic"]: (t["withoutElectableReplica"], t["mayLackRecords"]) for t in status["topics"]}
            assert found == dict.fromkeys(topics, (1, 1)), status
            wait_for("both to be counted", partial(are_waiting, kafka, len(topics)), SECONDS)
            for topic, broker in CHOSEN.items():
                assert is_led(kafka, topic, -1) is True, "nobody is elected unasked"
                choose_leader(kafka, topic, broker, SECONDS)
                kafka.wait_in_sync(topic, {1, 2, 3}, SECONDS)
            wait_for("none to be counted", partial(are_waiting, kafka, 0), SECONDS)
            self.compare(kafka, topics)

    def warm(self, kafka: KafkaRacks, topic: str) -> Producers:
        """A topic with a producer for each mode, paused when all is answered and replicated."""
        self.topics(kafka).create(topic, [[1, 2, 3]], min_insync_replicas=2)
        producers = {
            name: self.producer(kafka, f"{topic}-{name}", topic, acks=mode, rate=50, delivery_timeout_ms=240000)
            for name, mode in MODES.items()
        }
        for producer in producers.values():
            producer.wait_totals("the producer to be warm", lambda t: t["acked"] >= RECORDS)
            producer.process.pause()
            acks.wait_answered(producer)
        sent = sum(len(producer.records()) for producer in producers.values())
        wait_for(f"{topic} to be replicated", partial(acks.holds, kafka, 3, topic, sent), SECONDS)
        return producers

    def lose(self, kafka: KafkaRacks, topics: dict[str, Producers]) -> None:
        """Records are acknowledged by brokers 1 and 2, which are killed and come back."""
        kafka.kafka.pause("c1")
        paused = self.run.event("note", "broker 3 is paused", "point", {})
        for producers in topics.values():
            quorum = producers["quorum"]
            quorum.process.resume()
            acks.wait_acknowledged(quorum, paused, RECORDS)
            quorum.process.pause()
            answered = acks.wait_answered(quorum).due(paused)
            expect.all_acknowledged(answered, len(answered))
        with nodes_down(kafka.kafka, ["a1", "b1"], how="kill", events=self.run):
            kafka.kafka.resume("c1")
            for topic in topics:
                wait_for(f"{topic} to have no leader", partial(is_led, kafka, topic, -1), SECONDS)
                assert kafka.in_sync(topic) == {0: {3}}, "broker 3 is in sync"

    def compare(self, kafka: KafkaRacks, topics: dict[str, Producers]) -> None:
        """Each topic takes records of both modes; what was acknowledged before is there, or lost with the set."""
        for topic, producers in topics.items():
            resumed = self.run.event("note", f"{topic} continues", "point", {})
            for producer in producers.values():
                producer.process.resume()
                acks.wait_acknowledged(producer, resumed, RECORDS)
            again = electable_set(kafka, topic)
            assert len(again.members) == 2 and not again.unclean, f"it has an electable set again: {again}"
            sent = {name: producer.end() for name, producer in producers.items()}
            read = self.read(kafka, topic)
            for each in sent.values():
                expect.all_acknowledged(each, len(each))
            expect.once_each([sent["all"]], read)
            if topic == "by-member":
                expect.once_each([sent["quorum"]], read)
            else:
                lost = expect.lost_only_above(sent["quorum"], read, 2 * RECORDS)
                assert len(lost) >= RECORDS, f"{len(lost)} records lost: broker 3 had more than it can have"


def are_waiting(kafka: KafkaRacks, partitions: int) -> bool | Pending:
    """True when the controller counts so many partitions of which no member may lead."""
    found = total(scrape(kafka.kafka.plan.controllers[0]), WAITING)
    return found == partitions or Pending(f"{found:.0f}")
