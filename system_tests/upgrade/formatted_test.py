"""A cluster that was formatted by this distribution leaves it for stock Kafka (docs/operations/upgrade.md, Back)."""

from __future__ import annotations

from contextlib import suppress

from harness.cluster.readiness import NodeFailed
from harness.common.wait import wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.recording.log_errors import Allowed
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest
from system_tests.lib.kafka_racks import TO_STOCK
from system_tests.upgrade.rolling_test import RESTARTS, roll

TOO_EARLY = Allowed(
    r"Encountered fatal fault: |[Ff]atal error |Exiting Kafka due to fatal exception|"
    r"unable to register with the controller quorum",
    "a stock node that is started above level 0 ends, and says why",
)


class Formatted(RackTest):
    """Two brokers and three controllers, formatted at the highest level: their bootstrap metadata names it."""

    def test_stock_nodes_end_above_level_0_and_take_over_there(self) -> None:
        """One node after the other, the active controller last; each record is there once. A controller that is down
        when the level is lowered reads of both levels when it starts.
        """
        settings = {**PATIENT, "initial.broker.registration.timeout.ms": 20000}
        spec = self.spec("a:1,b:1", controllers=3, settings=settings)
        with self.racks(spec, [*RESTARTS, TOO_EARLY], shared=False) as kafka:
            self.topics(kafka).create("orders", [[1, 2], [2, 1]], min_insync_replicas=1)
            sent = [self.produce(kafka, "before", "orders", 20)]
            for name in ("b1", standby(kafka)[0]):
                ends_as_stock(kafka, name)
            absent = standby(kafka)[-1]
            kafka.kafka.stop(absent)
            kafka.tool(*TO_STOCK, "--remove")
            kafka.kafka.start(absent)
            for name in ("a1", "b1", *standby(kafka)):
                roll(kafka, name, "stock")
            active = kafka.kafka.select("controller")[0].name
            roll(kafka, active, "stock")
            sent.append(self.produce(kafka, "after", "orders", 20, client="stock"))
            for acks in sent:
                expect.all_acknowledged(acks, 20)
            expect.once_each(sent, self.read(kafka, "orders"))


def standby(kafka: KafkaRacks) -> list[str]:
    """The controllers that are not active, by name."""
    active = kafka.kafka.select("controller")[0].name
    return [n.name for n in kafka.kafka.select("controllers") if n.name != active]


def ends_as_stock(kafka: KafkaRacks, name: str) -> None:
    """A stock node ends in the place of this one, which returns. A controller first follows its leader for a while."""
    kafka.kafka.stop(name)
    with suppress(NodeFailed):
        kafka.kafka.start(name, distribution="stock")
    wait_for(f"{name} to end", lambda: kafka.kafka.node_states([name])[name] == "failed", 120)
    kafka.kafka.start(name, distribution="rackspan")
    kafka.kafka.wait_in_sync()
