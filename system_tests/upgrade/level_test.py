"""The feature rackspan.version: raised and lowered on a live cluster (docs/operations/upgrade.md)."""

from __future__ import annotations

import re

from harness.admin.topics import MIN_RACKS
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.spec.rackspan_level import FEATURE
from system_tests.lib import acks, expect
from system_tests.lib.base import PATIENT, RackTest
from system_tests.lib.kafka_racks import TO_STOCK


class Level(RackTest):
    """A cluster formatted at level 0, where all is as on stock Kafka."""

    def test_gates_are_in_force_from_level_1_to_the_return_to_0(self) -> None:
        """Each step is refused before its time with words that name the next command."""
        spec = self.spec("a:1,b:1,c:1", settings=PATIENT, features={FEATURE: 0})
        with self.racks(spec, [expect.CHANGE_REFUSED], shared=False) as kafka:
            topics = self.topics(kafka)
            topics.create("orders", [[1, 2, 3]], min_insync_replicas=2)
            assert level(kafka) == 0
            early = expect.refusal(lambda: topics.set("orders", MIN_RACKS, 3))
            assert f"needs {FEATURE} 1, and the cluster is at level 0. Raise it with kafka-features.sh" in early, early
            unknown = self.produce(kafka, "early", "orders", 5, acks=acks.QUORUM, retries=0)
            expect.all_ended_with(unknown, 5, "INVALID_REQUIRED_ACKS")

            kafka.tool("kafka-features.sh", "upgrade", "--feature", f"{FEATURE}=1")
            assert level(kafka) == 1
            topics.set("orders", MIN_RACKS, 3)
            kafka.kafka.stop("c1")
            kafka.wait_in_sync("orders", {1, 2})
            refused = self.produce(kafka, "refused", "orders", 10, retries=0)
            expect.all_ended_with(refused, 10, expect.REFUSED)

            lowering = kafka.try_tool("kafka-features.sh", "downgrade", "--feature", f"{FEATURE}=0")
            assert lowering.code == 1 and f"topic orders {MIN_RACKS}=3" in lowering.out + lowering.err, lowering
            assert level(kafka) == 1
            kafka.tool(*TO_STOCK, "--remove")
            assert level(kafka) == 0
            taken = self.produce(kafka, "taken", "orders", 10)
            expect.all_acknowledged(taken, 10)
            kafka.kafka.start("c1")
            kafka.kafka.wait_in_sync()
            read = self.read(kafka, "orders")
            expect.once_each([taken], read)
            expect.none_of(refused, read)
            self.electable_sets_are_in_the_way(kafka)

    def electable_sets_are_in_the_way(self, kafka: KafkaRacks) -> None:
        """Nothing leads below level 2 while somebody writes with acks=min.insync.replicas; then one command does."""
        kafka.tool("kafka-features.sh", "upgrade", "--feature", f"{FEATURE}=2")
        producer = self.producer(kafka, "set", "orders", acks=acks.QUORUM, rate=20)
        producer.wait_totals("the producer to be warm", lambda t: t["acked"] >= 20)
        listed = kafka.try_tool(*TO_STOCK)
        assert listed.code == 1, listed
        assert listed.out.splitlines()[:2] == [f"feature {FEATURE}=2", "topics orders electable set"], listed.out
        for lower in ("1", "0"):
            refused = kafka.try_tool("kafka-features.sh", "downgrade", "--feature", f"{FEATURE}={lower}")
            named = "that not all in-sync replicas have: orders. Stop their producers"
            assert refused.code == 1 and named in refused.out + refused.err, refused
        assert level(kafka) == 2
        sent = producer.end()
        expect.all_acknowledged(sent, len(sent))
        kafka.tool(*TO_STOCK, "--remove")
        assert level(kafka) == 0
        expect.once_each([sent], self.read(kafka, "orders"))


def level(kafka: KafkaRacks) -> int:
    """The finalized level of the feature, as an operator sees it."""
    described = kafka.tool("kafka-features.sh", "describe")
    found = re.search(rf"Feature: {FEATURE}\s.*FinalizedVersionLevel: (\d+)", described)
    assert found, described
    return int(found.group(1))
