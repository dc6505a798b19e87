"""From stock to this distribution and back, node by node, under load (docs/operations/upgrade.md)."""

from __future__ import annotations

from harness.admin.topics import MIN_RACKS, Topics
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks
from harness.faults.power import power_cut
from harness.recording.log_errors import Allowed
from system_tests.lib import acks, expect, networks
from system_tests.lib.base import PATIENT, RackTest
from system_tests.lib.kafka_racks import TO_STOCK

NODES = ("a1", "b1", "c1", "ctrl-1")  # the controller last: until then the setting is unknown to everybody
RATE = 20.0  # records per second; the job copies nearly each in a transaction of its own
FEATURES = "kafka-features.sh"
RAISE = ("upgrade", "--feature", "rackspan.version=2")

# What stock nodes log as well when nodes restart one by one.
RESTARTS = (
    expect.OVERTAKEN,
    Allowed(
        r"ControllerApis nodeId=\d+\] Unexpected error handling request RequestHeader\(apiKey="
        r"(BROKER_HEARTBEAT|BROKER_REGISTRATION|ALTER_PARTITION|ALLOCATE_PRODUCER_IDS)",
        "the only controller has started and is not active yet: brokers get that answer, and try again",
    ),
)


class RollingUpgrade(RackTest):
    """Three brokers and a controller; clients are stock ones, but for the one that uses what is new."""

    def test_there_and_back(self) -> None:
        """No record is lost or there twice, whichever broker loses its power in between; a step out of order is refused
        with words that help.
        """
        apart = "netns" if networks.can_be_had() else "local"
        spec = self.spec("a:1,b:1,c:1", distribution="stock", settings=PATIENT, backend=apart)
        with self.racks(spec, RESTARTS, shared=False) as kafka:
            topics = self.topics(kafka)
            topics.create("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], min_insync_replicas=2)
            topics.create("copies", [[2, 3, 1], [3, 1, 2]], min_insync_replicas=2)
            producer = self.producer(kafka, "live", "orders", "stock", rate=RATE, delivery_timeout_ms=120000)
            assert producer.process.wait_line("started", 0)["idempotence"] is True
            job = self.copy(kafka, "job", "orders", "copies", "all")
            job.wait_totals("the job to be at work", lambda t: t["copied"] >= 50)

            for name in NODES:
                if name == NODES[-1]:
                    refused_before_its_time(topics)
                roll(kafka, name, "rackspan")
                if name == "b1":
                    self.cut_power(kafka, name)
            self.raise_the_level(kafka, topics)
            used = self.use(kafka, topics)
            self.cut_power(kafka, "c1")
            self.go_back_too_early(kafka)
            for name in NODES:
                roll(kafka, name, "stock")
                if name == "b1":
                    self.cut_power(kafka, "a1")
            job.wait_totals("the job to have kept up", lambda t: t["copied"] >= producer.last["acked"] // 2)
            sent = producer.end()
            expect.all_acknowledged(sent, len(sent))
            done = job.finish()
            orders = self.read(kafka, "orders")
            expect.once_each([sent], orders)
            expect.in_order(orders)
            assert len(orders) == len(sent), f"{len(orders)} in the log, {len(sent)} sent"
            copied = sorted(r["seq"] for r in self.read(kafka, "copies", committed=True))
            assert copied == sorted(r["seq"] for r in orders), f"{len(copied)} copies of {len(orders)}, {done}"
            strict = self.read(kafka, "strict")
            expect.once_each([used], strict)
            assert len(strict) == len(used), f"{len(strict)} in the log, {len(used)} acknowledged"

    def cut_power(self, kafka: KafkaRacks, name: str) -> None:
        """Takes from a broker what it has not flushed, and waits until every replica is in sync again."""
        with power_cut(kafka.kafka, [name], events=self.run):
            others = {n.node.id for n in kafka.kafka.select("brokers") if n.name != name}
            kafka.wait_in_sync("orders", others)
        kafka.kafka.wait_in_sync()

    def raise_the_level(self, kafka: KafkaRacks, topics: Topics) -> None:
        """All nodes are ours, and still as stock: a topic that level 1 would refuse is served, and is in its way."""
        said = expect.refusal(lambda: topics.set("orders", MIN_RACKS, 2))
        assert "needs rackspan.version 1, and the cluster is at level 0" in said, said
        topics.create("clamped", [[1, 2]], min_insync_replicas=3)
        expect.all_acknowledged(self.produce(kafka, "clamped", "clamped", 5), 5)
        refused = kafka.try_tool(FEATURES, *RAISE)
        named = "would refuse acks=all from then on: clamped."
        assert refused.code == 1 and named in refused.out + refused.err, refused
        topics.set("clamped", "min.insync.replicas.inconsistent.action", "clamp")
        kafka.tool(FEATURES, *RAISE)
        expect.all_acknowledged(self.produce(kafka, "still", "clamped", 5), 5)

    def use(self, kafka: KafkaRacks, topics: Topics) -> Acks:
        """All nodes are ours: the setting is taken, and leaders enforce it."""
        topics.set("orders", MIN_RACKS, 2)
        # With all three racks required, no leader can come that lacks what was acknowledged, whatever the acks.
        strict = {"min_insync_racks": 3, "acks_all_scope": "min.insync.replicas"}
        topics.create("strict", [[1, 2, 3]], min_insync_replicas=2, **strict)
        kafka.kafka.stop("c1")
        kafka.wait_in_sync("strict", {1, 2})
        refused = self.produce(kafka, "refused", "strict", 10, client="rackspan", retries=0)
        expect.all_ended_with(refused, 10, expect.REFUSED)
        kafka.kafka.start("c1")
        kafka.kafka.wait_in_sync()
        used = self.produce(kafka, "new", "strict", 20, client="rackspan", acks=acks.QUORUM)
        expect.all_acknowledged(used, 20)
        return used

    def go_back_too_early(self, kafka: KafkaRacks) -> None:
        """At level 2 no stock node can take part; one command takes away what stock does not know, and the level."""
        early = kafka.try_tool(*TO_STOCK)
        assert early.code == 1, early
        assert early.out.splitlines()[:4] == [
            "topics clamped min.insync.replicas.inconsistent.action=clamp",
            "topics orders min.insync.racks=2",
            "topics strict acks.all.scope=min.insync.replicas min.insync.racks=3",
            "feature rackspan.version=2",
        ], early.out
        assert "stock Kafka does not know these" in early.out and "--remove" in early.out, early.out
        lowering = kafka.try_tool(FEATURES, "downgrade", "--feature", "rackspan.version=0")
        listed = "topic orders min.insync.racks=2, topic strict acks.all.scope=min.insync.replicas"
        assert lowering.code == 1 and listed in lowering.out + lowering.err, lowering

        removed = kafka.try_tool(*TO_STOCK, "--remove")
        assert removed.code == 0, removed
        clean = kafka.try_tool(*TO_STOCK)
        assert clean.code == 0 and clean.out.startswith("nothing is set that stock Kafka does not know\n"), clean


def refused_before_its_time(topics: Topics) -> None:
    """Brokers are ours, the controller is not: it says that it does not know the setting."""
    said = expect.refusal(lambda: topics.set("orders", MIN_RACKS, 2))
    assert f"Unknown topic config name: {MIN_RACKS}" in said, said


def roll(kafka: KafkaRacks, name: str, distribution: str) -> None:
    """Restarts one node with another distribution, and waits until every replica is in sync again."""
    kafka.kafka.stop(name)
    kafka.kafka.start(name, distribution=distribution)
    kafka.kafka.wait_in_sync()
