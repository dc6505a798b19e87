"""The values of min.insync.racks, the levels where it can be set, and their precedence."""

from __future__ import annotations

from functools import partial

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.reuse import last_of_its_cluster
from harness.faults.process import nodes_down
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest

NAME = "min.insync.racks"
REFUSED_VALUES = {
    "0": "Invalid value 0 for configuration min.insync.racks: Value must be at least 1",
    "-1": "Invalid value -1 for configuration min.insync.racks: Value must be at least 1",
    "abc": "Invalid value abc for configuration min.insync.racks: Not a number of type INT",
}


class Settings(RackTest):
    """Topic, cluster default, single broker."""

    def test_values_and_levels(self) -> None:
        """Bad values are refused with exact words, a value above the racks only warns, one broker alone has none."""
        with self.racks(self.spec("a:1,b:1,c:1", settings=PATIENT), [expect.CHANGE_REFUSED]) as kafka:
            topics = self.topics(kafka)
            topics.create("t", [[1, 2, 3]])
            for value, text in REFUSED_VALUES.items():
                assert expect.refusal(partial(topics.set, "t", NAME, value)) == text
                assert expect.refusal(partial(topics.create, "bad", [[1, 2, 3]], min_insync_racks=value)) == text
            code, printed = set_default(kafka, "0")
            assert code == 1 and REFUSED_VALUES["0"] in printed, f"exit code {code}: {printed}"
            assert topics.config("t")[NAME].value == "1"

            topics.set("t", NAME, 4)
            warned = kafka.logged("controllers", "WARN Topic t now has min.insync.racks=4", ["server.log"])
            assert len(warned) == 1 and "but the brokers are in 3 rack(s) only: [a, b, c]" in warned[0], warned
            refused = self.produce(kafka, "four", "t", 5)
            expect.all_ended_with(refused, 5, "INCONSISTENT_REPLICA_CONFIGURATION")
            topics.set("t", NAME, 3)
            expect.all_acknowledged(self.stock_python(kafka, "confluent-kafka", "three", "t", records=5).finish(), 5)

            for name in (NAME, "min.insync.replicas"):
                text = expect.refusal(partial(topics.set_broker, 1, name, 2))
                assert text.startswith(f"Broker-level {name} cannot be altered while ELR is enabled."), text
            read = self.read(kafka, "t")
            expect.none_of(refused, read)
            assert len(read) == 5, f"5 records were acknowledged, {len(read)} are in the log"

    @last_of_its_cluster
    def test_cluster_default_covers_internal_topics(self) -> None:
        """Topics without a value follow the default; with too few racks a commit of offsets waits, as it must."""
        with self.racks(self.spec("a:1,b:1,c:1", settings=PATIENT)) as kafka:
            topics = self.topics(kafka)
            topics.create("follows", [[1, 2, 3]])
            topics.create("own", [[1, 2, 3]], min_insync_racks=2)
            commit(kafka, 1)
            code, printed = set_default(kafka, "3")
            assert code == 0 and "Completed updating default config for brokers in the cluster" in printed, printed
            expected = {"follows": "3", "own": "2", "__consumer_offsets": "3"}

            def described_as_set() -> bool | Pending:  # any broker answers, with what it knows by then
                values = {topic: topics.config(topic)[NAME].value for topic in expected}
                return values == expected or Pending(str(values))

            wait_for("brokers to know the default", described_as_set, 30)
            described = kafka.tool("kafka-configs.sh", "--describe", "--all", "--topic", "own")
            line = next(line for line in described.splitlines() if NAME in line)
            chain = ("DYNAMIC_TOPIC_CONFIG:min.insync.racks=2", "DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.racks=3")
            assert all(part in line for part in chain), line
            self.wait_metric(kafka, expect.AT_RACKS, 1 + 6)  # "follows" and the partitions of __consumer_offsets

            with nodes_down(kafka.kafka, "c1", how="stop", events=self.run):
                kafka.wait_in_sync("follows", {1, 2})
                kafka.wait_in_sync("__consumer_offsets", {1, 2})
                self.wait_metric(kafka, expect.UNDER_RACKS, 1 + 6)
                refused = self.produce(kafka, "refused", "follows", 5, retries=0)
                expect.all_ended_with(refused, 5, expect.REFUSED)
                accepted = self.stock_python(kafka, "kafka-python", "accepted", "own", records=5).finish()
                expect.all_acknowledged(accepted, 5)
                assert expect.refusal(lambda: commit(kafka, 2)) != ""
                code, printed = set_default(kafka, "2")
                assert code == 0, printed
                self.wait_metric(kafka, expect.UNDER_RACKS, 0)
                commit(kafka, 3)
            expect.once_each([accepted], self.read(kafka, "own"))
            assert self.read(kafka, "follows") == []


def set_default(kafka: KafkaRacks, value: str) -> tuple[int, str]:
    """Sets the cluster default as an operator does; exit code and output."""
    where = ("--entity-type", "brokers", "--entity-default")
    done = kafka.try_tool("kafka-configs.sh", "--alter", *where, "--add-config", f"{NAME}={value}")
    return done.code, done.out + done.err


def commit(kafka: KafkaRacks, offset: int) -> None:
    """Commits an offset for a group. Raises KafkaException."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "group", "log_level": 0})
    try:
        wait_for("the group's coordinator to answer", lambda: coordinated(consumer), 60)
        done = consumer.commit(offsets=[TopicPartition("follows", 0, offset)], asynchronous=False)
        if done[0].error is not None:
            raise KafkaException(done[0].error)
    finally:
        consumer.close()


def coordinated(consumer: Consumer) -> bool | Pending:
    """True if the broker that was queried coordinates the group: leaders of a new topic learn of it one by one."""
    try:
        consumer.committed([TopicPartition("follows", 0)], timeout=30)
    except KafkaException as e:
        if e.args[0].code() in (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS):
            return Pending(str(e))
        raise
    return True
