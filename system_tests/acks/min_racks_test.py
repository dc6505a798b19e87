"""Both numbers count: enough replicas in too few racks are not enough for acks=min.insync.replicas."""

from __future__ import annotations

from functools import partial
from typing import Any

from harness.common.wait import Pending, WaitTimeout, wait_for
from harness.ducktape_support.client_service import ClientProducer
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.process import nodes_down
from harness.recording.segments import end_offset
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest


class MinRacks(RackTest):
    """Brokers 1 and 2 in rack a, 3 in b, 4 in c, all replicas of all topics; racks b and c hang, still in sync."""

    def test_a_pair_in_one_rack_is_not_enough(self) -> None:
        """It waits for a second rack, not so where one rack is required, and no longer once that is lowered."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=acks.LASTING)) as kafka:
            topics = self.topics(kafka)
            for topic, racks in (("two", 2), ("steered", 2), ("one", 1)):
                topics.create(topic, [[1, 2, 3, 4]], min_insync_replicas=2, min_insync_racks=racks)
            java = self.producer(kafka, "java", "steered", acks=acks.QUORUM, rate=50, delivery_timeout_ms=120000)
            java.wait_totals("the producer to be served", lambda t: t["acked"] >= 20)
            java.process.pause()
            acks.wait_answered(java)
            processes = kafka.processes()

            with nodes_down(kafka.kafka, ["b1", "c1"], how="pause", events=self.run):
                assert all(isr == {1, 2, 3, 4} for t in ("two", "one") for isr in kafka.in_sync(t).values())
                waiting = self.sent(kafka, "waiting", "two", records=1, **acks.ENDURING)
                java.process.resume()
                for topic, n in (("two", 1), ("steered", len(java.records().ok) + 1)):
                    for broker in (1, 2):
                        wait_for(f"broker {broker} to hold {topic}", partial(acks.holds, kafka, broker, topic, n), 30)
                java.process.pause()
                # Sent after the pair had the others, and answered: those others would have been by now.
                single = self.sent(kafka, "single", "one", records=5)
                expect.all_acknowledged(single.finish(), 5)
                assert len(waiting.records()) == 0, f"answered by one rack: {waiting.records().counts}"
                stuck = java.records()
                open_ = stuck.where(lambda r: not r["result"])
                assert len(open_) > 0, f"answered by one rack: {stuck.counts}"

                acks.set_during_pause(kafka, self.run, "two", "min.insync.racks", 1)
                expect.all_acknowledged(waiting.finish(), 1)
                assert end_offset(kafka.broker(1), "two") == 1, "something was written meanwhile"
                acks.set_during_pause(kafka, self.run, "steered", "min.insync.racks", 1)
                freed = acks.wait_answered(java)
                expect.all_acknowledged(freed, len(stuck))
                assert kafka.processes() == processes, "something was restarted"
                assert all(isr == {1, 2, 3, 4} for t in ("two", "one") for isr in kafka.in_sync(t).values())

            expect.once_each([java.end()], self.read(kafka, "steered"))
            expect.once_each([waiting.records()], self.read(kafka, "two"))
            expect.once_each([single.records()], self.read(kafka, "one"))

    def sent(self, kafka: KafkaRacks, name: str, topic: str, **options: Any) -> ClientProducer:
        """A kafka-python whose first record is with a leader of rack a.

        It asks brokers at random for metadata, and waits long for a paused one: another one may be luckier.
        """
        for number in range(8):
            client = self.stock_python(kafka, "kafka-python", f"{name}-{number}", topic, acks=acks.NUMBER, **options)
            try:
                wait_for(f"{client.name} to send", lambda: end_offset(kafka.broker(1), topic) > 0 or Pending("no"), 12)
            except WaitTimeout:
                client.stop()
                assert end_offset(kafka.broker(1), topic) == 0, f"{client.name} sent as it was ended"
            else:
                return client
        raise AssertionError(f"no client of eight sent anything to {topic}")
