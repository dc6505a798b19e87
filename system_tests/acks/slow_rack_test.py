"""One rack is far away: acks=min.insync.replicas waits for it only if its racks cannot be found nearer."""

from __future__ import annotations

from harness.ducktape_support.load_service import Acks
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest
from system_tests.lib.networks import needs_networks

FAR_MS = 250


class SlowRack(RackTest):
    """One broker a rack, all leaders and the controller in rack a; a round trip to rack c takes 250 ms."""

    @needs_networks
    def test_quorum_waits_for_the_racks_it_needs_and_no_farther(self) -> None:
        """Two racks are near, the third is not; no answer is earlier than the network allows."""
        links = {"default": "2ms", "a-c": f"{FAR_MS}ms", "b-c": f"{FAR_MS}ms"}
        with self.racks(self.spec("a:1,b:1,c:1", backend="netns", links=links, settings=acks.LASTING)) as kafka:
            topics = self.topics(kafka)
            topics.create("two", [[1, 2, 3]], min_insync_replicas=2, min_insync_racks=2)
            topics.create("three", [[1, 2, 3]], min_insync_replicas=2, min_insync_racks=3)
            # The first ones wait for the electable set, however long that takes on a busy machine.
            near = self.produce(kafka, "near", "two", 200, acks=acks.QUORUM, rate=20)
            slow = {"rate": 5, "close_seconds": 60}  # no more than five unanswered requests fit a round trip or two
            entire = self.produce(kafka, "entire", "two", 20, **slow)
            far = self.produce(kafka, "far", "three", 20, acks=acks.QUORUM, **slow)
            for sent, records in ((near, 200), (entire, 20), (far, 20)):
                expect.all_acknowledged(sent, records)
            # A busy machine makes answers late, and never early: the fastest shows what is not waited for.
            assert fastest_ms(near) < FAR_MS, f"{fastest_ms(near):.0f} ms at least, though two racks are near"
            for name, sent in (("acks=all", entire), ("three racks", far)):
                assert fastest_ms(sent) >= 0.9 * FAR_MS, f"{name}: answered in {fastest_ms(sent):.0f} ms"
            expect.once_each([near, entire], self.read(kafka, "two"))
            expect.once_each([far], self.read(kafka, "three"))


def fastest_ms(sent: Acks) -> float:
    """The shortest time from sending a record to its answer."""
    return float(min(row["done_ns"] - row["sent_ns"] for row in sent.ok)) / 1e6
