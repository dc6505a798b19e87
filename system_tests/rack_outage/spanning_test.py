"""Plan row 1: acks=all succeeds while the in-sync replicas span the required racks."""

from __future__ import annotations

from harness.recording.metrics import total
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest


class SpanningIsr(RackTest):
    """Nothing is broken here: what must not be refused is not refused."""

    def test_acknowledged_when_isr_spans(self) -> None:
        """Two racks required and two spanned, three of three, and one of three spare."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT)) as kafka:
            topics = self.topics(kafka)
            topics.create("two", [[1, 3], [3, 4]], min_insync_replicas=2, min_insync_racks=2)
            topics.create("three", [[1, 3, 4]], min_insync_replicas=2, min_insync_racks=3)
            topics.create("spare", [[1, 3, 4]], min_insync_replicas=2, min_insync_racks=2)
            sent = {name: self.produce(kafka, name, name, 100, rate=200) for name in ("two", "three", "spare")}
            for name, acks in sent.items():
                expect.all_acknowledged(acks, 100)
                expect.once_each([acks], self.read(kafka, name))
            samples = kafka.samples()
            assert total(samples, expect.UNDER_RACKS) == 0
            assert total(samples, expect.AT_RACKS) == 3
            assert total(samples, expect.SPAN_PARTITION, topic="three") == 3
            assert total(samples, expect.SPAN_PARTITION, topic="two") == 4
            assert total(samples, expect.RACK_FAILURES) == 0
            assert kafka.errors() == {}, kafka.errors()
