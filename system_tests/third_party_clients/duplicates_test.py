"""Records that an idempotent producer writes twice: librdkafka, beside a partition that refuses for good."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import LoadService
from harness.faults.rack import rack_down
from harness.recording.log_errors import Allowed
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest

JAVA, LIBRDKAFKA, CLAMPED = "java", "librdkafka", "clamped"
RATE = 50.0  # records a second of each producer, in turn to both partitions
OUTAGES = 2
SPANNING = 0  # the partition
REFUSED = "INVALID_CONFIG"
SKIPPED = Allowed(
    r"append operation on partition \S+:librdkafka-0 .*\n\S+OutOfOrderSequenceException: .* for new epoch",
    "librdkafka begins a new epoch for a refused record, with the other partition's records out of order at first",
)
OVERTAKEN = Allowed(
    r"append operation on partition \S+:(librdkafka|clamped)-0 .*\n\S+OutOfOrderSequenceException: .* \(current end",
    "the rack is back between two requests of one connection: the first was refused, the second is out of order",
)
TOO_MANY, ACTION = "min_insync_replicas", "min_insync_replicas_inconsistent_action"


class Duplicates(RackTest):
    """A partition with min.insync.racks=2 in two racks, beside another that requires more than it has."""

    def test_of_idempotent_producers_beside_a_partition_that_refuses(self) -> None:
        """In outages the Java client writes nothing twice, and librdkafka neither where the topic is clamped.

        Where it is not, librdkafka may (docs/reference/clients.md); what it acknowledged is there.
        """
        with self.racks(self.spec("a:2,b:1", settings=acks.CALM), [SKIPPED, OVERTAKEN]) as kafka:
            topics = self.topics(kafka)
            topics.create(JAVA, [[1, 3], [1, 2]], min_insync_replicas=1, min_insync_racks=2)  # the second in one rack
            for topic, action in {LIBRDKAFKA: "reject", CLAMPED: "clamp"}.items():
                topics.create(topic, [[1, 3]], min_insync_replicas=1, min_insync_racks=2)
                topics.create(beside(topic), [[1, 2]], **{TOO_MANY: 3, ACTION: action})
            java = self.producer(kafka, JAVA, JAVA, client="stock", rate=RATE, delivery_timeout_ms=240000)
            with Loop(kafka.bootstrap, LIBRDKAFKA) as refused, Loop(kafka.bootstrap, CLAMPED) as clamped:
                for _ in range(OUTAGES):
                    java.wait_totals("the Java client to be served", served(java))
                    for loop in (refused, clamped):
                        loop.wait_served()
                    with rack_down(kafka.kafka, "b", events=self.run):
                        for topic in (JAVA, LIBRDKAFKA, CLAMPED):
                            wait_for(f"{topic} to be in one rack", partial(in_one_rack, kafka, topic), 60)
                    for topic in (JAVA, LIBRDKAFKA, CLAMPED):
                        kafka.wait_in_sync(topic, seconds=60)
                java.wait_totals("the Java client to be served", served(java))
            sent = java.end()
            spanning = sent.where(lambda r: r["partition"] == SPANNING)
            expect.once_each([spanning], self.read(kafka, JAVA))
            found = {loop.topic: values(kafka, loop.topic) for loop in (refused, clamped)}
        twice = {topic: sum(n - 1 for n in there.values()) for topic, there in found.items()}
        self.run.event("note", "written twice", data={"outages": OUTAGES, **twice})
        for loop in (refused, clamped):
            missing = loop.acknowledged - set(found[loop.topic])
            assert not missing, f"{len(missing)} records that {loop.topic} acknowledged are lost"
        assert set(refused.errors) == {REFUSED}, f"the topic beside it answers {refused.errors}"
        assert not clamped.errors, clamped.errors
        assert twice[CLAMPED] == 0, f"{twice[CLAMPED]} records are there twice"


class Loop:
    """An idempotent librdkafka producer that writes numbers, in turn to the topic and to the one beside it."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self.acknowledged: set[bytes] = set()
        self.errors: Counter[str] = Counter()
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0, "log_level": 0}
        self._producer = Producer({**settings, "message.timeout.ms": 240000})
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, name=topic, daemon=True)

    def __enter__(self) -> Loop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        assert self._producer.flush(240) == 0, f"records to {self.topic} have no answer"

    def wait_served(self) -> None:
        """Waits until a good many more records are acknowledged. Raises WaitTimeout."""
        before = len(self.acknowledged)

        def more() -> bool | Pending:
            now = len(self.acknowledged) - before
            return now >= RATE / 2 or Pending(f"{now} acknowledged, errors {dict(self.errors)}")

        wait_for(f"{self.topic} to be served", more, 60)

    def _write(self) -> None:
        number = 0
        while not self._over.wait(1 / RATE):
            topic = beside(self.topic) if number % 2 else self.topic
            self._producer.produce(topic, str(number).encode(), on_delivery=self._delivered)
            self._producer.poll(0)
            number += 1

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self.errors[error.name()] += 1
        elif message.topic() == self.topic:
            self.acknowledged.add(message.value())


def beside(topic: str) -> str:
    """The topic that requires more replicas than it has."""
    return f"{topic}-beside"


def served(producer: LoadService) -> Callable[[dict[str, Any]], bool]:
    """A condition: a second's worth of records to the partition that does not refuse was acknowledged since now."""
    before = producer.last.get("acked", 0)
    return lambda totals: bool(totals["acked"] >= before + RATE / 2)


def in_one_rack(kafka: KafkaRacks, topic: str) -> bool | Pending:
    """True if the partition that spans racks does so no more."""
    in_sync = kafka.in_sync(topic)[SPANNING]
    return in_sync == {1} or Pending(f"in sync: {in_sync}")


def values(kafka: KafkaRacks, topic: str) -> Counter[bytes]:
    """The number of times that each value is in the topic."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": f"reads-{topic}", "log_level": 0})
    place = TopicPartition(topic, SPANNING, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=30)
    consumer.assign([place])
    found: Counter[bytes] = Counter()
    following = 0
    while following < end:
        message = consumer.poll(30)
        assert message is not None and message.error() is None, f"cannot read {topic}: {message}"
        found[message.value() or b""] += 1
        following = (message.offset() or 0) + 1
    consumer.close()
    return found
