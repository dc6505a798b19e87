"""An operator lowers min.insync.racks for a time; the controller keeps that, and restores the former value."""

from __future__ import annotations

from typing import Any

from harness.admin.topics import MIN_RACKS, Topics
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.rack import rack_down
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest
from system_tests.lib.kafka_racks import ask

DEGRADED = "kafka_server_ReplicaManager_DegradedMinRackIsrPartitionCount"
KEPT, BRIEF = "kept", "brief"
WHY = "rack b, and its switch, are down"


class Degrade(RackTest):
    """Topics on one broker in each of two racks, which require both."""

    def test_a_degrade_lets_writes_continue_and_ends(self) -> None:
        """One survives a restart of the controller and ends when it is restored, one ends by itself; then both topics
        refuse again, and what was acknowledged meanwhile is there when the rack is back. The ledger has its offsets.
        """
        with self.racks(self.spec("a:1,b:1,c:1", settings=PATIENT)) as kafka:
            topics = self.topics(kafka)
            for topic in (KEPT, BRIEF):
                topics.create(topic, [[1, 2]], min_insync_replicas=1, min_insync_racks=2)
            sent = {}
            with rack_down(kafka.kafka, "b", events=self.run):
                for topic in (KEPT, BRIEF):
                    kafka.wait_in_sync(topic, {1})
                    expect.all_ended_with(
                        self.produce(kafka, f"{topic}-before", topic, 5, retries=0), 5, expect.REFUSED
                    )
                assert ledger(kafka)["ranges"] == []
                degrade(kafka, KEPT, "1h")
                self.wait_metric(kafka, DEGRADED, 1)
                kafka.kafka.stop("ctrl-1")
                kafka.kafka.start("ctrl-1")
                sent[KEPT] = self.produce(kafka, "kept-meanwhile", KEPT, 20)
                code, now = ask(kafka, "status", "--topic", KEPT)
                assert (code, now["topics"][0]["minInsyncRacks"]) == (0, 1), now
                assert now["topics"][0]["degrade"]["reason"] == WHY, now
                expect_range(kafka, KEPT, to=None, reached=False)

                degrade(kafka, BRIEF, "20s")
                sent[BRIEF] = self.produce(kafka, "brief-meanwhile", BRIEF, 20)
                for acknowledged in sent.values():
                    expect.all_acknowledged(acknowledged, 20)
                wait_for("the brief degrade to end", lambda: ended(topics, BRIEF), 120)
                code, restored = ask(kafka, "restore", KEPT)
                assert code == 0, restored
                assert restored["topics"] == [{"topic": KEPT, "minInsyncRacks": 2, "degrade": None, "refusal": None}]
                self.wait_metric(kafka, DEGRADED, 0)
                for topic in (KEPT, BRIEF):
                    expect_range(kafka, topic, to=20, reached=False)
                for topic in (KEPT, BRIEF):
                    expect.all_ended_with(self.produce(kafka, f"{topic}-after", topic, 5, retries=0), 5, expect.REFUSED)
            for topic in (KEPT, BRIEF):
                kafka.wait_in_sync(topic, {1, 2})
                read = self.read(kafka, topic)
                expect.once_each([sent[topic]], read)
                assert len(read) == 20, f"{len(read)} in the log of {topic}"
                expect_range(kafka, topic, to=20, reached=True)


def degrade(kafka: KafkaRacks, topic: str, time: str) -> None:
    """Lowers the topic's value to one rack; a request for as many as it has is refused."""
    code, refused = ask(kafka, "degrade", topic, "--to", "2", "--for", time, "--reason", WHY)
    assert code == 1 and refused["topics"][0]["refusal"].endswith("requires 2 rack(s): to must be less"), refused
    code, done = ask(kafka, "degrade", topic, "--to", "1", "--for", time, "--reason", WHY)
    assert (code, done["topics"][0]["minInsyncRacks"]) == (0, 1), done
    kept = done["topics"][0]["degrade"]
    assert (kept["to"], kept["from"], kept["by"], kept["reason"]) == (1, 2, "User:ANONYMOUS", WHY), kept


def ledger(kafka: KafkaRacks, *topics: str) -> dict[str, Any]:
    """The answer of kafka-racks.sh ledger about these topics, or all."""
    return ask(kafka, "ledger", *topics)[1]


def expect_range(kafka: KafkaRacks, topic: str, to: int | None, reached: bool) -> None:
    """Waits until the ledger has one range of a topic, from its first record on, with who and why."""
    wanted = {"partition": 0, "from": 0, "to": to, "promisedRacks": 2, "reached": reached, "joined": 1}

    def as_wanted() -> dict[str, Any] | Pending:
        found = ledger(kafka, topic)
        ranges = found["ranges"]
        return found if len(ranges) == 1 and wanted.items() <= ranges[0].items() else Pending(f"the ledger {ranges}")

    found = wait_for(f"{wanted} in the ledger of {topic}", as_wanted, 60)
    assert found["answer"] == ("yes" if reached else "no"), found
    said = found["ranges"][0]["degrade"]
    assert (said["reason"], said["by"]) == (WHY, "User:ANONYMOUS"), found


def ended(topics: Topics, topic: str) -> bool | Pending:
    """True if the topic requires two racks again."""
    racks = topics.own(topic, MIN_RACKS)
    return racks == "2" or Pending(f"{MIN_RACKS}={racks}")
