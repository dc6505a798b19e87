"""Plan row 6: the rack is back, the ISR recovers, the original value is restored, and produces succeed."""

from __future__ import annotations

from harness.faults.rack import rack_down
from harness.recording.metrics import total
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest


class Recovery(RackTest):
    """The operator's procedure from begin to end: refused, lowered, served, rack back, raised, served."""

    def test_original_value_restored_after_outage(self) -> None:
        """With the value restored, a second outage is refused again: it is really in force."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT)) as kafka:
            topics = self.topics(kafka)
            topics.create("t", [[1, 3]], min_insync_racks=2)
            with rack_down(kafka.kafka, "b", events=self.run):
                kafka.wait_in_sync("t", {1})
                refused = self.produce(kafka, "refused", "t", 20, retries=0)
                expect.all_ended_with(refused, 20, expect.REFUSED)
                topics.set("t", "min.insync.racks", 1)
                self.wait_metric(kafka, expect.UNDER_RACKS, 0)
                lowered = self.produce(kafka, "lowered", "t", 20)
                expect.all_acknowledged(lowered, 20)

            kafka.wait_in_sync("t")
            topics.set("t", "min.insync.racks", 2)
            self.wait_metric(kafka, expect.AT_RACKS, 1)
            restored = self.produce(kafka, "restored", "t", 20)
            expect.all_acknowledged(restored, 20)
            samples = kafka.samples()
            assert total(samples, expect.UNDER_RACKS) == 0
            assert total(samples, expect.SPAN_PARTITION, topic="t") == 2

            with rack_down(kafka.kafka, "b", how="stop", events=self.run):
                kafka.wait_in_sync("t", {1})
                again = self.produce(kafka, "again", "t", 20, retries=0)
                expect.all_ended_with(again, 20, expect.REFUSED)
            kafka.wait_in_sync("t")
            read = self.read(kafka, "t")
            expect.once_each([lowered, restored], read)
            expect.none_of(refused, read)
            expect.none_of(again, read)
            assert len(read) == 40, f"40 records were acknowledged, {len(read)} are in the log"
