"""KIP-579: a topic that requires more replicas, or racks, than its partitions have."""

from __future__ import annotations

import re
import time

from confluent_kafka import Consumer, Producer, TopicPartition

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks
from harness.faults.process import nodes_down
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest

FINAL = "INCONSISTENT_REPLICA_CONFIGURATION"
ACTION = "min.insync.replicas.inconsistent.action"
LINE_EVERY_S = 30  # one line of the broker's log per topic
# Three in-sync replicas of every topic, the internal ones too, on two brokers.
THREE = {"min.insync.replicas": 3, "transaction.state.log.min.isr": 3}
CONSOLE_TEXT = (
    "org.apache.kafka.common.errors.InconsistentReplicaConfigurationException: "
    "Partition narrow-0 has 2 replica(s) [1, 2], but min.insync.replicas is 3: "
    "no write with acks=all can ever meet that."
)


class Inconsistent(RackTest):
    """Two brokers in two racks; topic `narrow` has the cluster's default of three, `racks` requires three racks."""

    def test_refused_for_good_and_by_its_name(self) -> None:
        """Final and prompt for acks=all, nothing for others, a line a topic in the log; clamped on demand."""
        with self.racks(self.spec("a:1,b:1", settings=PATIENT | THREE), [expect.REPLICAS_REFUSED]) as kafka:
            topics = self.topics(kafka)
            topics.create("narrow", [[1, 2]])
            topics.create("racks", [[1, 2]], min_insync_replicas=2, min_insync_racks=3)
            topics.create("fine", [[1, 2]], min_insync_replicas=2)
            begun = time.monotonic()
            refused = {topic: self.refused(kafka, topic) for topic in ("narrow", "racks")}
            shown_on_the_console(kafka)
            logged_once_a_while(kafka, time.monotonic() - begun)
            described(kafka)

            sent = [self.produce(kafka, f"acks-{acks}", "narrow", 10, acks=acks) for acks in ("0", "1")]
            for acks in sent:
                expect.all_acknowledged(acks, 10)
            read = self.read(kafka, "narrow")
            expect.once_each(sent[1:], read)
            expect.none_of(refused["narrow"], read)
            assert len(read) == 20, f"20 records with acks=0 and 1 were sent, {len(read)} are in the log"
            assert self.read(kafka, "racks") == []
            internal_topics_work(kafka)
            refused_transaction_ends(kafka)
            for topic in ("__consumer_offsets", "__transaction_state"):
                assert topics.config(topic)["min.insync.replicas"].value == "3", topics.config(topic)
                assert all(isr == {1, 2} for isr in kafka.in_sync(topic).values()), kafka.in_sync(topic)

            topics.set("narrow", ACTION, "clamp")
            wait_for("the leader to clamp", lambda: accepted(kafka, "narrow"), 30)
            expect.all_acknowledged(self.produce(kafka, "clamped", "narrow", 10), 10)

            with nodes_down(kafka.kafka, "b1", how="stop", events=self.run):
                for topic in ("fine", "narrow"):
                    kafka.wait_in_sync(topic, {1})
                    short = self.produce(kafka, f"short-{topic}", topic, 5, retries=0)
                    expect.all_ended_with(short, 5, expect.FEW_REPLICAS)
            kafka.wait_in_sync("narrow")

    def refused(self, kafka: KafkaRacks, topic: str) -> Acks:
        """A producer with Kafka's own retries and time-outs gets the error at once, and does not retry."""
        producer = self.producer(kafka, f"final-{topic}", topic, rate=20, duration=1)
        acks = producer.finish()
        expect.all_ended_with(acks, 20, FINAL)
        longest = max((r["done_ns"] - r["sent_ns"]) / 1e9 for r in acks.rows)
        assert longest < expect.PROMPT_S, f"answered after {longest:.1f} s"
        metrics = producer.process.lines[-1]["metrics"]
        assert metrics["record-retry-total"] == 0, metrics
        return acks


def shown_on_the_console(kafka: KafkaRacks) -> None:
    """The motivation of the proposal: the cause by its name, and no retries."""
    done = kafka.try_tool("kafka-console-producer.sh", "--topic", "narrow", typed="1\n")
    printed = done.out + done.err
    assert CONSOLE_TEXT in printed, printed
    assert "retrying" not in printed, printed


def logged_once_a_while(kafka: KafkaRacks, seconds: float) -> None:
    """The leader of both topics logs a line for each, however many requests it refuses, and never as an error."""
    lines = kafka.logged("brokers", r"Refused \d+ append\(s\) to topic \S+ since the last such line", ["server.log"])
    for topic in ("narrow", "racks"):
        mine = [line for line in lines if f"to topic {topic} since" in line]
        assert 1 <= len(mine) <= 1 + seconds // LINE_EVERY_S, f"{len(mine)} lines in {seconds:.0f} s: {mine}"
    answers = kafka.errors()
    assert set(answers) == {FINAL} and answers[FINAL] > 10, answers
    assert kafka.logged("brokers", "Error processing append operation") == []


def described(kafka: KafkaRacks) -> None:
    """kafka-topics.sh shows the configured and the effective value, where these differ."""
    printed = kafka.tool("kafka-topics.sh", "--describe")
    found = re.findall(
        r"Topic: (\S+)\s+Partition: 0\s.*?(?:\t(MinInSync\w+: \d+ \(effective [^)]+\)))?$", printed, re.M
    )
    wanted = {
        "narrow": "MinInSyncReplicas: 3 (effective 2, acks=all is refused)",
        "racks": "MinInSyncRacks: 3 (effective 2, acks=all is refused)",
        "fine": "",
    }
    assert dict(found) == wanted, printed


def refused_transaction_ends(kafka: KafkaRacks) -> None:
    """The abort marker is written though the partition refuses writes: the next transaction of the id commits."""
    for topic in ("racks", "fine"):
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0, "transactional.id": "refused"})
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce(topic, b"in a transaction")
        producer.flush(60)
        producer.abort_transaction(60) if topic == "racks" else producer.commit_transaction(60)


def internal_topics_work(kafka: KafkaRacks) -> None:
    """A transaction that commits a group's offset needs both of them. Raises KafkaException."""
    common = {"bootstrap.servers": kafka.bootstrap, "log_level": 0}
    where = TopicPartition("fine", 0)
    consumer = Consumer(common | {"group.id": "group"})
    producer = Producer(common | {"transactional.id": "job"})
    try:
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce("fine", b"copy")
        offset = TopicPartition("fine", 0, 7)
        producer.send_offsets_to_transaction([offset], consumer.consumer_group_metadata(), 60)
        producer.commit_transaction(60)
        committed = consumer.committed([where], timeout=60)
        assert committed[0].offset == 7, committed
    finally:
        consumer.close()


def accepted(kafka: KafkaRacks, topic: str) -> bool | Pending:
    """True if a third-party client's write with acks=all is accepted now."""
    reported: list[str] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all", "retries": 0, "log_level": 0})
    producer.produce(topic, b"probe", on_delivery=lambda error, _: reported.append(error.name() if error else "OK"))
    producer.flush(20)
    return reported == ["OK"] or Pending(f"{reported}")
