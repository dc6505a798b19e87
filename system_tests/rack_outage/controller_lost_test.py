"""The active controller dies while the loss of a broker changes in-sync replicas."""

from __future__ import annotations

from functools import partial

from harness.common.wait import Pending
from harness.ducktape_support.steered_service import Row
from harness.faults.process import nodes_down
from system_tests.lib import expect
from system_tests.lib.base import RackTest

TOPIC = "orders"
EACH = 40  # records between two steps


class ControllerLost(RackTest):
    """Three racks, each with a broker and a controller."""

    def test_changes_of_the_isr_survive_the_controller(self) -> None:
        """Twice the active controller is killed with a broker; nobody gives up, and nothing is lost or there twice."""
        with self.racks(self.spec("a:1,b:1,c:1", controllers=3), [expect.OVERTAKEN], shared=False) as kafka:
            places = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
            self.topics(kafka).create(TOPIC, places, min_insync_replicas=2, min_insync_racks=2)
            live = self.producer(kafka, "live", TOPIC, rate=50, delivery_timeout_ms=240000)
            live.wait_totals("the producer to be served", partial(more, before=0))
            for broker, left in (("c1", {1, 2}), ("a1", {2, 3})):
                with nodes_down(kafka.kafka, [broker, "controller"], events=self.run):
                    kafka.wait_in_sync(TOPIC, left, 60)
                    live.wait_totals("writes without both", partial(more, before=live.last["sent"]))
                kafka.wait_in_sync(TOPIC, seconds=60)
                live.wait_totals("writes with both", partial(more, before=live.last["sent"]))
            sent = live.end()
            expect.all_acknowledged(sent, len(sent))
            read = self.read(kafka, TOPIC)
            expect.once_each([sent], read)
            expect.in_order(read)
            assert len(read) == len(sent), f"{len(read)} in the log, {len(sent)} sent"


def more(totals: Row, before: int) -> bool | Pending:
    """True if all that was sent before is acknowledged, and some more."""
    return totals["acked"] >= before + EACH or Pending(f"{totals}")
