"""Third-party clients: one that can be configured to send -2, and one that needs the topic setting acks.all.scope."""

from __future__ import annotations

from functools import partial

from confluent_kafka import KafkaException, Producer

from harness.admin.cluster_defaults import set_default
from harness.admin.topics import Topics
from harness.common.wait import wait_for
from harness.ducktape_support.client_service import ClientProducer
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.process import nodes_down
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest

SCOPE = "acks.all.scope"


class OtherClients(RackTest):
    """kafka-python and librdkafka on topics with each value of the setting, while an in-sync follower is paused."""

    def test_served_while_a_follower_is_paused(self) -> None:
        """-2 by configuration, acks=all with the setting on the topic or as default; acks=all waits without it."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=acks.LASTING), [expect.CHANGE_REFUSED]) as kafka:
            topics = self.topics(kafka)
            self.values(kafka, topics)
            topics.create("full", [[1, 2, 3]], min_insync_replicas=2, acks_all_scope="isr")
            topics.create("scoped", [[1, 2, 3]], min_insync_replicas=2, acks_all_scope=acks.QUORUM)
            assert refused_by_librdkafka() != "", "librdkafka takes -2 by now: say so in the documents"

            with nodes_down(kafka.kafka, "b1", how="pause", events=self.run):
                served = {
                    name: self.stock_python(kafka, client, name, topic, records=5, acks=value)
                    for name, client, topic, value in (
                        ("number", "kafka-python", "full", acks.NUMBER),
                        ("by-topic", "confluent-kafka", "scoped", "all"),
                        ("by-default", "confluent-kafka", "follows", "all"),
                    )
                }
                for producer in served.values():
                    expect.all_acknowledged(producer.finish(), 5)
                waiting = {"full": self.waits(kafka, "full", 5)}
                acks.set_during_pause(kafka, self.run, "scoped", SCOPE, "isr")
                waiting["scoped"] = self.waits(kafka, "scoped", 5)
                assert kafka.in_sync("full") == {0: {1, 2, 3}}, "the follower left the ISR, so nothing was shown"

            for producer in waiting.values():
                expect.all_acknowledged(producer.finish(), 1)
            for topic, names in (("full", ["number"]), ("scoped", ["by-topic"]), ("follows", ["by-default"])):
                sent = [served[name].records() for name in names]
                sent += [waiting[topic].records()] if topic in waiting else []
                expect.once_each(sent, self.read(kafka, topic))
            set_default(kafka.bootstrap.split(","), SCOPE, None)
            wait_for("the default to be gone", lambda: topics.config("follows")[SCOPE].value == "isr", 20)

    def values(self, kafka: KafkaRacks, topics: Topics) -> None:
        """The default, what is refused, and a cluster default that a topic without a value follows."""
        topics.create("follows", [[1, 2, 3]], min_insync_replicas=2)
        assert topics.config("follows")[SCOPE].value == "isr"
        words = f"Invalid value some for configuration {SCOPE}: String must be one of: isr, {acks.QUORUM}"
        assert expect.refusal(lambda: topics.create("bad", [[1]], acks_all_scope="some")) == words
        assert expect.refusal(lambda: topics.set("follows", SCOPE, "some")) == words
        where = ("--entity-type", "brokers", "--entity-default")
        kafka.tool("kafka-configs.sh", "--alter", *where, "--add-config", f"{SCOPE}={acks.QUORUM}")
        wait_for("the default to arrive", lambda: topics.config("follows")[SCOPE].value == acks.QUORUM, 20)

    def waits(self, kafka: KafkaRacks, topic: str, there: int) -> ClientProducer:
        """A producer with acks=all of which one record is held by brokers 1 and 2, and is not acknowledged.

        A later record with -2 is: had the earlier one been waiting for the same replicas, it would have had its answer.
        """
        producer = self.stock_python(kafka, "confluent-kafka", f"waits-{topic}", topic, records=1, **acks.ENDURING)
        for broker in (1, 2):
            wait_for(f"broker {broker} to hold the record", partial(acks.holds, kafka, broker, topic, there + 1), 30)
        later = self.stock_python(kafka, "kafka-python", f"later-{topic}", topic, records=1, acks=acks.NUMBER)
        expect.all_acknowledged(later.finish(), 1)
        assert len(producer.records()) == 0, f"acks=all was answered: {producer.records().counts}"
        return producer


def refused_by_librdkafka() -> str:
    """The error of librdkafka for acks=-2; "" if it accepts it."""
    try:
        Producer({"bootstrap.servers": "127.0.0.1:1", "acks": acks.NUMBER, "log_level": 0})
    except KafkaException as e:
        return str(e)
    return ""
