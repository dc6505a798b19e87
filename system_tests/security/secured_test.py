"""The core of an outage over SASL_SSL with access control: who may write, change settings and see them."""

from __future__ import annotations

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it exports them without saying so
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from harness.admin.topics import MIN_RACKS
from harness.cluster.security import password
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.process import nodes_down
from harness.hosts.host import Output
from harness.recording.log_errors import Allowed
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest
from system_tests.lib.wire import MIN_RACKS_TAG, MIN_REPLICAS_TAG, topic_metadata

USERS = ["writer", "operator", "stranger"]
NOT_AUTHORIZED = 29  # TOPIC_AUTHORIZATION_FAILED
ALLOWED = {
    "writer": (AclOperation.WRITE,),
    "operator": (AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE_CONFIGS),
}

DENIED = Allowed(
    r"Unexpected error handling request Forwarded request: .*RequestHeader\(apiKey=LIST_PARTITION_REASSIGNMENTS,",
    "Kafka's controller logs a user's refused listing of moves as an error; kafka-topics.sh requires it",
)


class Secured(RackTest):
    """Three racks of a broker. Every client is a user; what the test itself requires goes without encryption."""

    def test_an_outage_with_access_control(self) -> None:
        """Refusals, -2 and the settings work as without it, and nobody changes or learns what he may not."""
        with self.racks(self.spec("a:1,b:1,c:1", users=USERS), [DENIED], shared=False) as kafka:
            topics = self.topics(kafka)
            topics.create("orders", [[1, 2, 3]], min_insync_replicas=1, min_insync_racks=2)
            allow(kafka)
            waiter = self.producer(kafka, "waiter", "orders", user="writer", rate=20, delivery_timeout_ms=120000)
            waiter.wait_totals("the producer to be served", lambda t: t["acked"] >= 20)
            quorum = self.produce(kafka, "quorum", "orders", 20, user="writer", acks=acks.QUORUM)
            expect.all_acknowledged(quorum, 20)
            self.who_sees_what(kafka)
            shown = [n.host.read(n.properties_file) for n in kafka.kafka.select("brokers")]
            assert not any(password(kafka.kafka.folder, user) in text for user in USERS for text in shown), (
                "in the open"
            )

            with nodes_down(kafka.kafka, ["b1", "c1"], events=self.run):
                kafka.wait_in_sync("orders", {1})
                refused = self.produce(kafka, "refused", "orders", 10, user="writer", retries=0)
                expect.all_ended_with(refused, 10, expect.REFUSED)
                for user in ("writer", "stranger"):
                    said = change(kafka, user, f"{MIN_RACKS}=1")
                    assert said.code != 0 and "authorization failed" in (said.out + said.err).lower(), (user, said)
                assert topics.own("orders", MIN_RACKS) == "2", "changed by somebody who may not"
                everywhere = ("--alter", "--entity-type", "brokers", "--entity-default", "--add-config")
                said = kafka.as_user("operator", "kafka-configs.sh", *everywhere, f"{MIN_RACKS}=1")
                assert said.code != 0 and "authorization failed" in (said.out + said.err).lower(), said
                before = waiter.last["acked"]
                said = change(kafka, "operator", f"{MIN_RACKS}=1")
                assert said.code == 0, said
                waiter.wait_totals("the producer to be served again", lambda t: t["acked"] > before + 20)
            said = change(kafka, "operator", f"{MIN_RACKS}=2")
            assert said.code == 0, said
            kafka.wait_in_sync("orders")
            sent = waiter.end()
            expect.all_acknowledged(sent, len(sent))
            read = self.read(kafka, "orders")
            expect.once_each([sent, quorum], read)
            assert len(read) == len(sent) + len(quorum), f"{len(read)} in the log"

    def who_sees_what(self, kafka: KafkaRacks) -> None:
        """The settings travel with a topic's metadata, to those who may describe it."""
        found = topic_metadata(kafka.kafka, "writer", "orders")
        assert (found.error, found.fields) == (0, {MIN_REPLICAS_TAG: 1, MIN_RACKS_TAG: 2}), found
        kept = topic_metadata(kafka.kafka, "stranger", "orders")
        assert (kept.error, kept.fields) == (NOT_AUTHORIZED, {}), kept
        for user in ("writer", "stranger"):  # the listing by racks answers to whom the one by replicas answers
            ours, stocks = (
                kafka.as_user(user, "kafka-topics.sh", "--describe", f"--at-min-{what}-partitions")
                for what in ("rack-isr", "isr")
            )
            assert (ours.code, ours.out) == (stocks.code, stocks.out), (user, ours, stocks)
            assert "orders" not in ours.out, (user, ours)


def allow(kafka: KafkaRacks) -> None:
    """Gives each user what he may do to the topic, and the stranger nothing."""
    topic = (ResourceType.TOPIC, "orders", ResourcePatternType.LITERAL)
    rules = [
        AclBinding(*topic, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for user, operations in ALLOWED.items()
        for operation in operations
    ]
    client = AdminClient({"bootstrap.servers": kafka.bootstrap})  # must live until it has its answers
    for done in client.create_acls(rules).values():
        done.result(60)


def change(kafka: KafkaRacks, user: str, setting: str) -> Output:
    """The answer to a user who changes a setting of the topic."""
    what = ("--alter", "--entity-type", "topics", "--entity-name", "orders", "--add-config", setting)
    return kafka.as_user(user, "kafka-configs.sh", *what)
