"""The active controller falls silent together with a member of the electable set: another set is proposed to its
successor as soon as there is one.
"""

from __future__ import annotations

from harness.common.wait import wait_for
from harness.faults.process import nodes_down
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest

TOPIC = "orders"
MODES = {"quorum": acks.QUORUM, "all": "all"}
# Much longer than the test waits for an acknowledgement.
SETTINGS = {**acks.CALM, "controller.socket.timeout.ms": 600000}


class SilentController(RackTest):
    """Three brokers and three controllers; the electable set is the leader and one follower."""

    def test_writes_resume_once_another_controller_is_active(self) -> None:
        """No mode waits until the request to the silent controller has timed out, and nothing is lost."""
        spec = self.spec("a:1,b:1,c:1", controllers=3, settings=SETTINGS)
        with self.racks(spec, [expect.OVERTAKEN, expect.LEFT_BEFORE_CONNECTED], shared=False) as kafka:
            self.topics(kafka).create(TOPIC, [[1, 2, 3]], min_insync_replicas=2)
            producers = {
                name: self.producer(kafka, name, TOPIC, acks=mode, rate=50, delivery_timeout_ms=240000)
                for name, mode in MODES.items()
            }
            for producer in producers.values():
                producer.wait_totals("the producer to be warm", lambda t: t["acked"] >= 50)
            (active,) = kafka.kafka.select("controller")
            kafka.kafka.pause("c1")
            paused = self.run.event("note", "broker 3 is paused: the set is brokers 1 and 2", "point", {})
            acks.wait_acknowledged(producers["quorum"], paused, 50)
            with nodes_down(kafka.kafka, ["b1", active.name], how="pause", events=self.run):
                kafka.kafka.resume("c1")
                left = self.run.event("note", "brokers 1 and 3 are left", "point", {})
                for producer in producers.values():
                    acks.wait_acknowledged(producer, left, 50)
                # Until it is fenced, an admin client may happen to ask broker 2.
                wait_for("broker 2 to be fenced", lambda: 2 not in kafka.kafka.view().racks, 60)
                self.topics(kafka).create("later", [[1, 3]])
            kafka.wait_in_sync(TOPIC, seconds=60)
            sent = [producer.end() for producer in producers.values()]
            for each in sent:
                expect.all_acknowledged(each, len(each))
            expect.once_each(sent, self.read(kafka, TOPIC))
