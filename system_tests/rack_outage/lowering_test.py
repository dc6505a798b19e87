"""Plan row 3: min.insync.racks lowered to 1 during the outage lets everything continue without a restart."""

from __future__ import annotations

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.steered_service import Row
from harness.faults.rack import rack_down
from harness.recording.segments import end_offset
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest


class Lowering(RackTest):
    """Two brokers stay in rack a while rack b, the only other rack of the topics, is down."""

    def test_produces_resume_without_restart(self) -> None:
        """A producer that waits is served, and a high watermark that stood still moves although nobody writes."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT)) as kafka:
            topics = self.topics(kafka)
            for topic in ("waiting", "paused"):
                topics.create(topic, [[1, 2, 3]], min_insync_replicas=2, min_insync_racks=2)
            waiter = self.producer(kafka, "waiter", "waiting", rate=20, delivery_timeout_ms=120000)
            waiter.wait_totals("the producer to be served", lambda t: t["acked"] >= 20)
            processes = kafka.processes()

            with rack_down(kafka.kafka, "b", events=self.run):
                for topic in ("waiting", "paused"):
                    kafka.wait_in_sync(topic, {1, 2})
                self.wait_metric(kafka, expect.UNDER_RACKS, 2)
                single = self.produce(kafka, "single", "paused", 20, acks="1")
                expect.all_acknowledged(single, 20)
                assert topics.high_watermark("paused") == 0, "the high watermark moved on one rack"
                stuck = waiter.wait_totals("the producer to wait", lambda t: t["unanswered"] >= 20)
                assert not stuck["errors"], f"a waiting producer was given errors: {stuck['errors']}"
                later = waiter.wait_totals("more to wait", lambda t: t["unanswered"] >= stuck["unanswered"] + 20)
                assert later["acked"] == stuck["acked"], f"acknowledged on one rack: {stuck} then {later}"

                lower(kafka, "paused")
                wait_for("the high watermark to move", lambda: topics.high_watermark("paused") == 20, 10)
                assert end_offset(kafka.broker(1), "paused") == 20, "something was written meanwhile"
                lower(kafka, "waiting")
                waiter.wait_totals("the producer to be served again", lambda t: served(t, later))
                self.wait_metric(kafka, expect.UNDER_RACKS, 0)
                now = kafka.processes()
                kept = {name: now[name] for name in now if name != "b1"}
                assert kept == {name: processes[name] for name in kept}, f"restarted: {processes} became {now}"

            sent = waiter.end()
            expect.all_acknowledged(sent, len(sent))
            kafka.wait_in_sync("waiting")
            read = self.read(kafka, "waiting")
            expect.once_each([sent], read)
            assert len(read) == len(sent), f"{len(sent)} records sent, {len(read)} in the log"
            expect.once_each([single], self.read(kafka, "paused"))


def lower(kafka: KafkaRacks, topic: str) -> None:
    """The operator's steps as the proposal describes them."""
    change = ("--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", "min.insync.racks=1")
    printed = kafka.tool("kafka-configs.sh", *change)
    assert f"Completed updating config for topic {topic}." in printed, printed


def served(totals: Row, before: Row) -> bool | Pending:
    """True if all that waited is answered and more."""
    return totals["acked"] > before["sent"] and totals["unanswered"] < 20 and not totals["errors"]
