"""Plan row 4: min.insync.replicas and min.insync.racks must both be met, and each refuses with its own error."""

from __future__ import annotations

from harness.faults.process import nodes_down
from harness.recording.metrics import total
from harness.recording.segments import end_offset
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest


class Thresholds(RackTest):
    """Brokers 1 and 2 in rack a, 3 in b, 4 in c. Broker 3 stops: each topic below feels it in another way."""

    def test_each_threshold_refuses_by_itself(self) -> None:
        """Racks short, replicas short, both short, both met."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT), [expect.REPLICAS_REFUSED]) as kafka:
            topics = self.topics(kafka)
            topics.create("racks-short", [[1, 2, 3]], min_insync_replicas=2, min_insync_racks=2)
            topics.create("replicas-short", [[1, 3, 4]], min_insync_replicas=3, min_insync_racks=2)
            topics.create("both-short", [[1, 2, 3]], min_insync_replicas=3, min_insync_racks=2)
            topics.create("both-met", [[1, 3, 4]], min_insync_replicas=2, min_insync_racks=2)
            names = ("racks-short", "replicas-short", "both-short", "both-met")

            with nodes_down(kafka.kafka, "b1", how="stop", events=self.run):
                for topic in names:
                    kafka.wait_in_sync(topic, {1, 2} if topic in ("racks-short", "both-short") else {1, 4})
                sent = {topic: self.produce(kafka, topic, topic, 20, retries=0) for topic in names}
                expect.all_ended_with(sent["racks-short"], 20, expect.REFUSED)
                expect.all_ended_with(sent["replicas-short"], 20, expect.FEW_REPLICAS)
                expect.all_ended_with(sent["both-short"], 20, expect.FEW_REPLICAS)
                expect.all_acknowledged(sent["both-met"], 20)
                answers = kafka.errors()
                assert answers == {expect.REFUSED: 20, expect.FEW_REPLICAS: 40}, answers
                samples = kafka.samples()
                assert total(samples, expect.RACK_FAILURES) == 20
                assert total(samples, expect.UNDER_RACKS) == 2
                assert total(samples, expect.UNDER_REPLICAS) == 2

                # The second reason shows as soon as the first is out of the way.
                topics.set("both-short", "min.insync.replicas", 2)
                self.wait_metric(kafka, expect.UNDER_REPLICAS, 1)
                second = self.produce(kafka, "second", "both-short", 20, retries=0)
                expect.all_ended_with(second, 20, expect.REFUSED)
                for topic in names:
                    wanted = 20 if topic == "both-met" else 0
                    assert end_offset(kafka.broker(1), topic) == wanted, f"{topic} has other records than {wanted}"

            for topic in names:
                kafka.wait_in_sync(topic)
            back = self.produce(kafka, "back", "both-short", 20)
            expect.all_acknowledged(back, 20)
            expect.once_each([back], self.read(kafka, "both-short"))
            expect.once_each([sent["both-met"]], self.read(kafka, "both-met"))
