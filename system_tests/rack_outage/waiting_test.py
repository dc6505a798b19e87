"""All that waits in an outage beside writes: latest offsets, commits, new groups, transactions; here and on stock."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.rack import rack_down
from harness.recording.log_errors import Allowed
from system_tests.lib import expect
from system_tests.lib.base import RackTest

OURS, STOCK = "rackspan", "stock"
STRICT = {OURS: "min.insync.racks", STOCK: "min.insync.replicas"}
TWO = {"offsets.topic.replication.factor": 2, "transaction.state.log.replication.factor": 2}
FEW = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 2}
QUICK = {"offsets.commit.timeout.ms": 3000, "group.initial.rebalance.delay.ms": 0}
DATA, FREE = "data", "free"  # a topic that follows the default, and one that requires one replica in one rack
TRY_S = 6.0  # how long something is tried that must not succeed
SECONDS = 60.0

GROUP_WAITS = Allowed(
    r"\[GroupCoordinator id=\d+ topic=__consumer_offsets partition=\d+\] The write event \S+ for the timer \S+ failed",
    "a new group cannot be written in the outage; the coordinator logs that its timer's write waited in vain",
)


class Waiting(RackTest):
    """Two brokers in two racks; the cluster's default is 2, so internal topics follow. One rack dies."""

    def test_with_min_insync_racks(self) -> None:
        """With min.insync.racks=2 latest offsets, commits, new groups and transactions wait, and all of it ends."""
        self.play(OURS)

    def test_stock_with_min_insync_replicas(self) -> None:
        """With min.insync.replicas=2 on stock Kafka the same waits."""
        self.play(STOCK)

    def play(self, distribution: str) -> None:
        """Tries all of it before, in and after the outage."""
        settings = {**TWO, **FEW, **QUICK, "min.insync.replicas": 1, "transaction.state.log.min.isr": 1}
        settings |= {STRICT[distribution]: 2}
        if distribution == STOCK:
            settings["transaction.state.log.min.isr"] = 2
        spec = self.spec("a:1,b:1", distribution=distribution, settings=settings)
        with self.racks(spec, [expect.REPLICAS_REFUSED, GROUP_WAITS], shared=False) as kafka:
            topics = self.topics(kafka)
            topics.create(DATA, [[1, 2]])
            topics.create(FREE, [[1, 2]], **{STRICT[distribution].replace(".", "_"): 1})
            send(kafka, {DATA: 10, FREE: 10}, "all")
            member = Member(kafka, "old", FREE)
            member.wait_assigned(SECONDS)
            member.read(10, SECONDS)
            assert member.commit(10) == "", "the group cannot commit before the outage"
            old = transactional(kafka, "old")
            assert transact(old, "before", SECONDS) == ""

            with rack_down(kafka.kafka, "b", events=self.run):
                for topic in (DATA, FREE, "__consumer_offsets", "__transaction_state"):
                    kafka.wait_in_sync(topic, {1})
                observed = self.waits(kafka, member, old)
                self.run.event("note", "waiting", data={"distribution": distribution, **observed})
            for topic in (DATA, FREE):
                kafka.wait_in_sync(topic, seconds=SECONDS)
            self.ends(kafka, member, old)

    def waits(self, kafka: KafkaRacks, member: Member, old: Any) -> dict[str, str]:
        """Tries everything while one rack is down; returns the errors."""
        topics = self.topics(kafka)
        before = topics.high_watermark(DATA)
        send(kafka, {DATA: 5}, "1")
        assert topics.high_watermark(DATA) == before, "the latest offset moved: it does not wait"
        send(kafka, {FREE: 5}, "all")
        member.read(15, SECONDS)  # who is assigned reads on

        new = Member(kafka, "new", FREE)
        first = transactional(kafka, "new", init=False)
        assert not new.assigned(TRY_S), "a new group was given partitions"
        assert member.consumer.assignment(), "the group that was there lost its partitions"
        new.consumer.close()
        errors = {
            "commit": member.commit(15),
            "new transactional.id": failure(lambda: first.init_transactions(TRY_S)),
            "transaction": transact(old, "during", TRY_S),  # last: stock sends markers thousands of times a second
        }
        assert all(errors.values()), f"not all of these wait: {errors}"
        return errors

    def ends(self, kafka: KafkaRacks, member: Member, old: Any) -> None:
        """Everything is served again; the transaction was written once or not at all."""
        wait_for(
            "the latest offset to move",
            lambda: self.topics(kafka).high_watermark(DATA) >= 15 or Pending("not yet"),
            SECONDS,
        )
        wait_for("commits to be served", lambda: member.commits(15), SECONDS)
        new = Member(kafka, "another", FREE)
        new.wait_assigned(SECONDS)
        assert failure(lambda: old.commit_transaction(SECONDS)) == "", "the transaction does not end"
        values = [r["seq"] for r in self.read(kafka, DATA, committed=True)]
        assert len(values) == 10 + 5 + 1 + 1, f"{len(values)} records are readable: 15, and one of each transaction"
        for each in (new, member):
            each.consumer.close()


class Member:
    """A consumer in a group of its own."""

    def __init__(self, kafka: KafkaRacks, group: str, topic: str) -> None:
        self._topic, self._given, self._records = topic, False, 0
        settings = {"bootstrap.servers": kafka.bootstrap, "group.id": group, "enable.auto.commit": False}
        self.consumer = Consumer({**settings, "auto.offset.reset": "earliest", "log_level": 0})
        self.consumer.subscribe([topic], on_assign=self._on_assign)

    def _on_assign(self, consumer: Any, partitions: Any) -> None:
        self._given = bool(partitions)

    def assigned(self, seconds: float) -> bool:
        """True if it gets a partition in that time."""

        for _ in range(int(seconds / 0.5)):
            self._poll()
            if self._given:
                return True
        return False

    def wait_assigned(self, seconds: float) -> None:
        """Waits for a partition. Raises AssertionError."""
        assert self.assigned(seconds), f"no partition within {seconds} s"

    def read(self, records: int, seconds: float) -> None:
        """Waits until it has read so many. Raises AssertionError."""
        for _ in range(int(seconds / 0.5)):
            if self._records >= records:
                return
            self._poll()
        raise AssertionError(f"{self._records} of {records} records read")

    def commit(self, offset: int) -> str:
        """Commits; returns the error, "" if there is none."""
        place = [TopicPartition(self._topic, 0, offset)]
        return failure(lambda: self.consumer.commit(offsets=place, asynchronous=False))

    def commits(self, offset: int) -> bool | Pending:
        """True if it can commit; joins again where it has to, as consumers do while they read."""
        self._poll()
        error = self.commit(offset)
        return Pending(error) if error else True

    def _poll(self) -> None:
        message = self.consumer.poll(0.5)
        if message is not None and message.error() is None:
            self._records += 1


def send(kafka: KafkaRacks, records: dict[str, int], acks: str) -> None:
    """Sends records and waits until all are acknowledged."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": acks, "log_level": 0})
    for topic, number in records.items():
        for _ in range(number):
            producer.produce(topic, b"value")
    assert producer.flush(SECONDS) == 0, "not acknowledged"


def transactional(kafka: KafkaRacks, name: str, *, init: bool = True) -> Any:
    """A transactional producer."""
    settings = {"bootstrap.servers": kafka.bootstrap, "transactional.id": name, "log_level": 0}
    producer = Producer(settings)
    if init:
        producer.init_transactions(SECONDS)
    return producer


def transact(producer: Any, value: str, seconds: float) -> str:
    """Writes one record in a transaction; returns the error, "" if it is committed."""
    producer.begin_transaction()
    producer.produce(DATA, value.encode())
    return failure(lambda: producer.commit_transaction(seconds))


def failure(act: Any) -> str:
    """The name of the error that it ends with, "" if none."""
    try:
        act()
    except KafkaException as e:
        return str(e.args[0].name())
    return ""
