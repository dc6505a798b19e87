"""The harness itself: racks that are apart. A producer sees the delay; a cut is proved by a connection that fails."""

from __future__ import annotations

from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.network import cut
from system_tests.lib import expect
from system_tests.lib.base import RackTest
from system_tests.lib.networks import needs_networks


class Networks(RackTest):
    """One broker a rack, the controller in rack a; rack c is far away from rack a, where all leaders are."""

    @needs_networks
    def test_delays_and_cuts(self) -> None:
        """acks=all takes the round trip to the farthest rack; a rack that is cut off counts as lost though it runs."""
        links = {"default": "2ms", "a-c": "30ms"}
        with self.racks(self.spec("a:1,b:1,c:1", backend="netns", links=links)) as kafka:
            topics = self.topics(kafka)
            topics.create("near", [[1, 2]], min_insync_replicas=2, min_insync_racks=2)
            topics.create("far", [[1, 2, 3]], min_insync_replicas=2, min_insync_racks=3)
            sent = {name: self.produce(kafka, name, name, 60) for name in ("near", "far")}
            for acks in sent.values():
                expect.all_acknowledged(acks, 60)
            fastest = min(row["done_ns"] - row["sent_ns"] for row in sent["far"].rows) / 1e6
            assert fastest >= 27, f"a record was acknowledged in {fastest:.1f} ms, less than the round trip of 30 ms"

            assert answered(kafka, "b1", "c1") == "yes"
            with cut(kafka.kafka, "c", events=self.run):
                assert answered(kafka, "b1", "c1") == "no"
                kafka.wait_in_sync("far", {1, 2})
                refused = self.produce(kafka, "refused", "far", 20, retries=0)
                expect.all_ended_with(refused, 20, expect.REFUSED)
                served = self.produce(kafka, "served", "near", 20)
                expect.all_acknowledged(served, 20)
            kafka.wait_in_sync("far", {1, 2, 3})
            assert answered(kafka, "b1", "c1") == "yes"
            again = self.produce(kafka, "again", "far", 20)
            expect.all_acknowledged(again, 20)
            expect.once_each([sent["far"], again], self.read(kafka, "far"))


def answered(kafka: KafkaRacks, source: str, target: str) -> str:
    """True if a connection from one node's host to another's broker is accepted within 3 s."""
    node = kafka.node(target).node
    script = f"timeout 3 bash -c '</dev/tcp/{node.address}/{node.port}' && echo yes || echo no"
    return kafka.node(source).host.shell(script).out.strip()
