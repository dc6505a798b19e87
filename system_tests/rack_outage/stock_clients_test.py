"""Third-party producers through an outage: the refusal has a code that they know, and they retry."""

from __future__ import annotations

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.rack import rack_down
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest

CLIENTS = ("kafka-python", "confluent-kafka")
# What each client calls NOT_ENOUGH_REPLICAS.
KNOWN_AS = {"kafka-python": "NotEnoughReplicasError", "confluent-kafka": "NOT_ENOUGH_REPLICAS"}


class StockClients(RackTest):
    """kafka-python and librdkafka; both would take an unknown error code for final and lose their records."""

    def test_wait_for_racks_as_for_replicas(self) -> None:
        """Without retries they see NOT_ENOUGH_REPLICAS; with retries they wait and succeed once the value is 1."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT)) as kafka:
            topics = self.topics(kafka)
            for client in CLIENTS:
                topics.create(client, [[1, 2, 3]], min_insync_replicas=2, min_insync_racks=2)
            with rack_down(kafka.kafka, "b", events=self.run):
                for client in CLIENTS:
                    kafka.wait_in_sync(client, {1, 2})
                once = {c: self.stock_python(kafka, c, f"once-{c}", c, records=5, retries=0) for c in CLIENTS}
                for client, producer in once.items():
                    expect.all_ended_with(producer.finish(), 5, KNOWN_AS[client])
                answers = kafka.errors()
                assert set(answers) == {expect.FEW_REPLICAS}, f"a stock client received {answers}"
                assert kafka.metric(expect.RACK_FAILURES) == answers[expect.FEW_REPLICAS]

                waiting = {c: self.stock_python(kafka, c, f"waits-{c}", c, records=20) for c in CLIENTS}
                before = kafka.metric(expect.RACK_FAILURES)
                wait_for("both to be refused again and again", lambda: more(kafka, before + 6), 30)
                for client, producer in waiting.items():
                    assert len(producer.records()) == 0, f"{client} was answered: {producer.records().counts}"
                for client in CLIENTS:
                    topics.set(client, "min.insync.racks", 1)
                sent = {client: producer.finish() for client, producer in waiting.items()}
            for client in CLIENTS:
                expect.all_acknowledged(sent[client], 20)
                kafka.wait_in_sync(client)
                read = self.read(kafka, client)
                expect.once_each([sent[client]], read)
                assert len(read) == 20, f"{client} sent 20 records, {len(read)} are in the log"


def more(kafka: KafkaRacks, wanted: float) -> bool | Pending:
    """True if that many appends were refused for lack of racks."""
    now = kafka.metric(expect.RACK_FAILURES)
    return now >= wanted or Pending(f"{now} of {wanted}")
