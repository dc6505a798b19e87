"""The markers of a transaction that ends in an outage: refused, tried again at a measured pace, and written at last."""

from __future__ import annotations

import time

from confluent_kafka import KafkaException, Producer

from harness.common.wait import Pending, pause, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.rack import rack_down
from system_tests.lib.acks import CALM
from system_tests.lib.base import RackTest

INTERNAL = {
    "transaction.state.log.replication.factor": 2,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 1,
}
MARKERS = "WriteTxnMarkers"
PAUSE_MS = 100  # between two attempts
LOOK_S, SECONDS = 3.0, 60.0


class Markers(RackTest):
    """One broker a rack; the topic requires both, the state of transactions does not."""

    def test_refused_markers_are_sent_again_at_a_pace_and_end_the_transaction(self) -> None:
        """The transaction is prepared in the outage; its end is written when the rack is back, and the record once."""
        with self.racks(self.spec("a:1,b:1", settings=CALM | INTERNAL), shared=False) as kafka:
            topics = self.topics(kafka)
            topics.create("t", [[1, 2]], min_insync_replicas=1, min_insync_racks=2)
            topics.create("free", [[1]])
            wait_for("a coordinator", lambda: transact(kafka, "first", "free"), SECONDS)
            producer = begun(kafka, "second", "t")
            with rack_down(kafka.kafka, "b", events=self.run):
                kafka.wait_in_sync("t", {1})
                error = ended(producer, 5)
                assert error in ("", "_TIMED_OUT"), f"the end of the transaction is refused: {error}"
                wait_for(
                    "a marker to be refused", lambda: refused(kafka) or Pending(str(kafka.errors(MARKERS))), SECONDS
                )
                before, began = refused(kafka), time.monotonic()
                pause(LOOK_S)
                attempts = refused(kafka) - before
                most = (time.monotonic() - began) * 1000 / PAUSE_MS + 1
                self.run.event("note", "markers", data={"refused": attempts, "at most": most})
                assert 0 < attempts <= most, f"{attempts} attempts, at most {most:.0f} are wanted"
                assert self.read(kafka, "t", committed=True) == []
            kafka.wait_in_sync("t", seconds=SECONDS)
            if error:
                assert not ended(producer, SECONDS), "the transaction does not end"
            wait_for("the record", lambda: self.read(kafka, "t", committed=True), SECONDS)
            assert len(self.read(kafka, "t", committed=True)) == 1


def refused(kafka: KafkaRacks) -> int:
    """Requests with markers that were refused since the test began."""
    return sum(kafka.errors(MARKERS).values())


def begun(kafka: KafkaRacks, name: str, topic: str) -> Producer:
    """A transactional producer with one acknowledged record in a transaction. Raises KafkaException."""
    settings = {"bootstrap.servers": kafka.bootstrap, "transactional.id": name, "log_level": 0}
    producer = Producer(settings)
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"value")
    assert producer.flush(SECONDS) == 0, "not acknowledged"
    return producer


def ended(producer: Producer, seconds: float) -> str:
    """The error of a commit, "" if there is none."""
    try:
        producer.commit_transaction(seconds)
    except KafkaException as e:
        return str(e.args[0].name())
    return ""


def transact(kafka: KafkaRacks, name: str, topic: str) -> bool:
    """True if a transaction can be committed."""
    return not ended(begun(kafka, name, topic), SECONDS)
