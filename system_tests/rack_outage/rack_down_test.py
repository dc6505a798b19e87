"""Plan row 2: with a rack down, acks=all is refused where too few racks are in sync, and nowhere else."""

from __future__ import annotations

from harness.admin.topics import Topics
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.rack import rack_down
from harness.recording.metrics import total
from harness.recording.segments import end_offset
from system_tests.lib import expect, listing
from system_tests.lib.base import RackTest

AB = ((1, 2, 3, 4), (2, 1, 4, 3))  # two brokers in rack a, two in rack b


class RackDown(RackTest):
    """Five brokers and three controllers in three racks; rack b dies with both of its brokers and its controller."""

    def test_refused_with_not_enough_racks(self) -> None:
        """Checks the producer's error, the brokers' counts, kafka-topics.sh, and that nothing is appended."""
        with self.racks(self.spec("a:2,b:2,c:1", controllers=3)) as kafka:
            topics = self.topics(kafka)
            topics.create("ab", AB, min_insync_replicas=2, min_insync_racks=2)
            topics.create("abc", [[1, 3, 5]], min_insync_replicas=2, min_insync_racks=3)
            topics.create("ac", [[1, 2, 5]], min_insync_replicas=2, min_insync_racks=2)
            topics.create("plain", [[1, 3, 5]], min_insync_replicas=2)
            before = self.produce(kafka, "before", "ab", 40)
            expect.all_acknowledged(before, 40)
            tight = {"ab-0", "ab-1", "abc-0", "ac-0"}
            assert listed(kafka) == (set(), tight)

            with rack_down(kafka.kafka, "b", events=self.run):
                kafka.wait_in_sync("ab", {1, 2})
                kafka.wait_in_sync("abc", {1, 5})
                kafka.wait_in_sync("plain", {1, 5})
                self.wait_metric(kafka, expect.UNDER_RACKS, 3)  # the leaders know it, too
                ends = ends_of(kafka)

                refused = self.produce(kafka, "refused", "ab", 20, retries=0)
                expect.all_ended_with(refused, 20, expect.REFUSED)
                assert kafka.errors() == {expect.REFUSED: 20}, kafka.errors()
                reported = "writes to 2 topics are refused: too few racks in sync: ab, abc"
                assert reported in kafka.kafka.status().reasons, kafka.kafka.status().reasons
                # One batch: what queues up behind a refused batch of an idempotent producer is never tried itself.
                batch = {"spread": "0", "rate": 5000, "linger_ms": 1500, "properties": {"batch.size": "16384"}}
                given_up = self.produce(kafka, "given-up", "ab", 20, delivery_timeout_ms=6000, **batch)
                expect.given_up(given_up, 20, cause=expect.REFUSED)
                all_three = self.produce(kafka, "all-three", "abc", 20, retries=0)
                expect.all_ended_with(all_three, 20, expect.REFUSED)
                assert ends_of(kafka) == ends, f"something was appended: {ends} became {ends_of(kafka)}"

                served = {topic: self.produce(kafka, f"in-{topic}", topic, 20) for topic in ("ac", "plain")}
                for acks in served.values():
                    expect.all_acknowledged(acks, 20)

                single = self.produce(kafka, "single", "ab", 20, acks="1")
                expect.all_acknowledged(single, 20)
                assert ends_of(kafka) == [end + 10 for end in ends]
                marks = [topics.high_watermark("ab", p) for p in (0, 1)]
                assert marks == ends, f"the high watermarks moved from {ends} to {marks} without rack b"

                assert listed(kafka) == ({"ab-0", "ab-1", "abc-0"}, {"ac-0"})
                samples = kafka.samples()
                assert total(samples, expect.UNDER_RACKS) == 3
                assert total(samples, expect.AT_RACKS) == 1
                assert total(samples, expect.UNDER_RACK_PARTITION, topic="ab") == 2
                assert total(samples, expect.UNDER_RACK_PARTITION, topic="plain") == 0
                assert total(samples, expect.SPAN_PARTITION, topic="abc") == 2
                assert total(samples, expect.UNDER_REPLICAS) == 0
                answers = kafka.errors()
                assert set(answers) == {expect.REFUSED}, answers
                failures = total(samples, expect.RACK_FAILURES)
                assert failures == answers[expect.REFUSED] >= 20 + 1 + 20, f"{failures} failures, {answers}"

            for topic in ("ab", "abc", "plain"):
                kafka.wait_in_sync(topic)
            self.run.event("note", "isr-restored", "point", {"topic": "ab"})
            wait_for("the high watermarks to reach the ends", lambda: caught_up(kafka, topics), 20)
            assert listed(kafka) == (set(), tight)
            self.wait_metric(kafka, expect.UNDER_RACKS, 0)
            read = self.read(kafka, "ab")
            expect.once_each([before, single], read)
            expect.none_of(refused, read)
            expect.none_of(given_up, read)
            expect.none_of(all_three, self.read(kafka, "abc"))
            for topic, acks in served.items():
                expect.once_each([acks], self.read(kafka, topic))


def listed(kafka: KafkaRacks) -> tuple[set[str], set[str]]:
    """Partitions that kafka-topics.sh lists as under and as at the required racks."""
    found = listing.listed(kafka, listing.UNDER_MIN_RACKS, listing.AT_MIN_RACKS)
    return found[listing.UNDER_MIN_RACKS], found[listing.AT_MIN_RACKS]


def ends_of(kafka: KafkaRacks) -> list[int]:
    """Ends of topic ab's two logs as they are on disk at brokers 1 and 2, which lead or would."""
    return [max(end_offset(kafka.broker(b), "ab", p) for b in (1, 2)) for p in (0, 1)]


def caught_up(kafka: KafkaRacks, topics: Topics) -> bool | Pending:
    """True if consumers can read all of topic ab."""
    ends = ends_of(kafka)
    marks = [topics.high_watermark("ab", p) for p in (0, 1)]
    return marks == ends or Pending(f"{marks} of {ends}")
