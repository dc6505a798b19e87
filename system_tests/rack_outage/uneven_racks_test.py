"""The example of the proposal of min.insync.racks: five replicas over three racks, two of which are required."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks
from harness.faults.process import nodes_down
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest

BROKERS = {"a": {1, 2}, "b": {3, 4}, "c": {5}}
PLACES = ([1, 2, 3, 4, 5], [3, 4, 5, 1, 2], [5, 1, 2, 3, 4])  # a leader in each rack
RECORDS = 15


class UnevenRacks(RackTest):
    """Racks a and b have two brokers, rack c has one; the controller is not taken away."""

    def test_each_rack_and_each_pair_of_racks(self) -> None:
        """Without any one rack all is served; without any two, what is left is one rack, and nothing is acknowledged.

        Two replicas of one rack are enough for min.insync.replicas=2 by itself: the control shows it.
        """
        with self.racks(self.spec("a:2,b:2,c:1"), [expect.REPLICAS_REFUSED]) as kafka:
            topics = self.topics(kafka)
            topics.create("example", PLACES, min_insync_replicas=2, min_insync_racks=2)
            topics.create("control", PLACES, min_insync_replicas=2)
            served, refused, control = [], [], []
            with self.without(kafka, "c", "abc"):
                served += self.try_both(kafka, "without-c")
                for first, left in (("b", "a"), ("a", "b")):
                    with self.without(kafka, first, "ab"):
                        refused += self.try_both(kafka, f"only-{left}")
                        control.append(self.produce(kafka, f"control-{left}", "control", RECORDS, retries=0))
            with self.without(kafka, "a", "abc"):
                served += self.try_both(kafka, "without-a")
                with self.without(kafka, "b", "bc"):
                    alone = self.try_both(kafka, "only-c")
                    for sent in alone:
                        expect.all_ended_with(sent, RECORDS, expect.FEW_REPLICAS)
            with self.without(kafka, "b", "abc"):
                served += self.try_both(kafka, "without-b")
            served += self.try_both(kafka, "complete")

            for sent in (*served, *control):
                expect.all_acknowledged(sent, RECORDS)
            for sent in refused:
                expect.all_ended_with(sent, RECORDS, expect.REFUSED)
            read = self.read(kafka, "example")
            expect.once_each(served, read)
            for sent in (*refused, *alone):
                expect.none_of(sent, read)
            assert len(read) == RECORDS * len(served), f"{len(read)} in the log"
            expect.once_each(control, self.read(kafka, "control"))

    def try_both(self, kafka: KafkaRacks, name: str) -> list[Acks]:
        """Writes with acks=all and acks=min.insync.replicas, each record tried once. All are replicated afterwards."""
        modes = {f"{name}-all": "all", f"{name}-quorum": acks.QUORUM}
        sent = [self.produce(kafka, n, "example", RECORDS, acks=mode, retries=0) for n, mode in modes.items()]
        self.wait_metric(kafka, acks.ABOVE_RECORDS, 0)
        return sent

    @contextmanager
    def without(self, kafka: KafkaRacks, rack: str, of: str) -> Iterator[None]:
        """Kills the brokers of a rack, where those of the racks `of` were running, for the time of a block."""
        before = set().union(*(BROKERS[r] for r in of))
        with nodes_down(kafka.kafka, [f"{rack}{n + 1}" for n in range(len(BROKERS[rack]))], events=self.run):
            for topic in ("example", "control"):
                kafka.wait_in_sync(topic, before - BROKERS[rack])
            yield
        for topic in ("example", "control"):
            kafka.wait_in_sync(topic, before)
