"""Three racks of which two are required: with one lost writes continue, with two lost they are refused."""

from __future__ import annotations

import time
from collections.abc import Callable

from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import LoadService
from harness.ducktape_support.steered_service import Row
from harness.faults.rack import rack_down
from system_tests.lib import expect
from system_tests.lib.base import RackTest

RATE = 100
RECORDS = 500  # of each state of the cluster; its outage chart is in the README


class TwoRacksLost(RackTest):
    """One broker in each rack, and a producer without retries, so that each record shows its own answer."""

    sampled_s = 0.5

    def test_refused_only_while_two_racks_are_lost(self) -> None:
        """Nothing that was acknowledged is lost, and nothing is acknowledged in one rack."""
        with self.racks(self.spec("a:1,b:1,c:1")) as kafka:
            self.topics(kafka).create("orders", [[1, 2, 3]], min_insync_replicas=1, min_insync_racks=2)
            producer = self.producer(kafka, "orders", "orders", rate=RATE, retries=0, delivery_timeout_ms=30000)
            producer.wait_totals("the producer to be served", lambda t: acknowledged(t) >= RECORDS)
            with rack_down(kafka.kafka, "c", events=self.run):
                self.counted_with(kafka, producer, {1, 2}, acknowledged)
                with rack_down(kafka.kafka, "b", events=self.run):
                    alone = self.counted_with(kafka, producer, {1}, refused)
                self.counted_with(kafka, producer, {1, 2}, acknowledged)
            self.counted_with(kafka, producer, {1, 2, 3}, acknowledged)
            self.run.event("note", "isr-restored", "point", {"topic": "orders"})
            sent = producer.end()
            read = self.read(kafka, "orders")
        assert {result for result, _ in sent.due(*alone).counts} == {expect.REFUSED}, "acknowledged in one rack"
        expect.once_each([sent], read)
        expect.none_of(sent.where(lambda r: r["result"] == expect.REFUSED), read)

    def counted_with(
        self, kafka: KafkaRacks, producer: LoadService, replicas: set[int], count: Callable[[Row], int]
    ) -> tuple[int, int]:
        """Waits until these are in sync and records are counted behind that; returns the time of those, in ns."""
        kafka.wait_in_sync("orders", replicas)
        begin_ns, before = time.time_ns(), count(producer.last)
        producer.wait_totals("the answers", lambda t: count(t) >= before + RECORDS)
        return begin_ns, time.time_ns()


def acknowledged(totals: Row) -> int:
    """The number of records that were acknowledged."""
    return int(totals["acked"])


def refused(totals: Row) -> int:
    """The number of records that were refused."""
    return int(totals["errors"].get(expect.REFUSED, 0))
