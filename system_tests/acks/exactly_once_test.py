"""Idempotent and transactional producers with acks=min.insync.replicas through the death of a leader."""

from __future__ import annotations

from harness.ducktape_support.reuse import last_of_its_cluster
from harness.faults.process import nodes_down
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest

RATE = 80.0  # records per second and producer; the job copies nearly each in a transaction of its own


class ExactlyOnce(RackTest):
    """Broker 1 leads what is produced into, and is killed.

    "closed" requires all three replicas, so that whoever is elected has all that was acknowledged. "open" requires two
    of them: the next leader may lack what was acknowledged last. The copies of "open" are led by brokers that live.
    """

    @last_of_its_cluster
    def test_nothing_twice_nothing_out_of_order(self) -> None:
        """Two idempotent producers, and a job that copies in transactions what one of them writes."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=acks.CALM), [expect.OVERTAKEN]) as kafka:
            topics = self.topics(kafka)
            topics.create("closed", [[1, 2, 3]], min_insync_replicas=3)
            topics.create("open", [[1, 2, 3]], min_insync_replicas=2)
            topics.create("copies", [[2, 3, 1], [3, 2, 1]], min_insync_replicas=2)
            producers = {
                topic: self.producer(kafka, topic, topic, acks=acks.QUORUM, rate=RATE, delivery_timeout_ms=120000)
                for topic in ("closed", "open")
            }
            for producer in producers.values():
                started = producer.process.wait_line("started", 0)
                assert (started["acks"], started["idempotence"]) == (acks.NUMBER, True), started
            job = self.copy(kafka, "job", "open", "copies", acks.QUORUM)
            for producer in producers.values():
                producer.wait_totals("the producer to be served", lambda t: t["acked"] >= 100)
            job.wait_totals("the job to be at work", lambda t: t["copied"] >= 50)
            certain = topics.high_watermark("open")

            with nodes_down(kafka.kafka, "a1", events=self.run):
                for topic in ("closed", "open"):
                    kafka.wait_in_sync(topic, {2, 3})
                shrunk = self.run.event("note", "isr-shrunk", "point", {"topic": "open"})
                outage = acks.wait_acknowledged(producers["open"], shrunk, 50)
                job.wait_totals("the job to continue", lambda t: t["copied"] > outage.rows[20]["seq"])
                assert not producers["closed"].records().due(shrunk).ok, "acknowledged with two of three replicas"

            for topic in ("closed", "open"):
                kafka.wait_in_sync(topic)
                back = self.run.event("note", "isr-restored", "point", {"topic": topic})
                acks.wait_acknowledged(producers[topic], back, 20)
            sent = {topic: producer.end() for topic, producer in producers.items()}
            for s in sent.values():
                expect.all_acknowledged(s, len(s))
            done = job.finish()

            closed = self.read(kafka, "closed")
            expect.once_each([sent["closed"]], closed)
            assert len(closed) == len(sent["closed"]), f"{len(closed)} in the log, {len(sent['closed'])} sent"
            expect.in_order(closed)
            source = self.read(kafka, "open")
            lost = expect.lost_only_above(sent["open"], source, certain)
            assert len(source) == len(sent["open"]) - len(lost), f"{len(source)} in the log, {len(lost)} lost"
            expect.in_order(source)

            copies = self.read(kafka, "copies", committed=True)
            expect.in_order(copies)
            found = sorted((r["producer"], r["seq"]) for r in copies)
            wanted = sorted(("job", r["seq"]) for r in source)
            assert found == wanted, f"{len(found)} copies of {len(wanted)} records, {difference(found, wanted)}"
            assert done["copied"] == len(source), done


def difference(found: list[tuple[str, int]], wanted: list[tuple[str, int]]) -> str:
    """The first copies that should not be there, and the first that are missing."""
    return f"too many {sorted(set(found) - set(wanted))[:5]}, missing {sorted(set(wanted) - set(found))[:5]}"
