"""The gate after the append: what was appended before the rack died is not acknowledged on too few racks."""

from __future__ import annotations

from harness.ducktape_support.steered_service import Row
from harness.faults.rack import rack_down
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest


class InFlight(RackTest):
    """Producers at work when rack b dies; the leader is in rack a, so that appends continue until the ISR shrinks."""

    def test_no_acknowledged_record_is_lost(self) -> None:
        """Without retries the brokers' error arrives promptly; with retries all is acknowledged in the end, once."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT)) as kafka:
            topics = self.topics(kafka)
            for topic in ("plain", "retried"):
                topics.create(topic, [[1, 2, 3]], min_insync_replicas=2, min_insync_racks=2)
            plain = self.producer(kafka, "plain", "plain", rate=50, retries=0)
            retried = self.producer(kafka, "retried", "retried", rate=50, delivery_timeout_ms=120000)
            for producer in (plain, retried):
                producer.wait_totals("the producer to be served", lambda t: t["acked"] >= 50)

            with rack_down(kafka.kafka, "b", events=self.run):
                kafka.wait_in_sync("plain", {1, 2})
                shrunk = self.run.event("note", "isr-shrunk", "point", {"topic": "plain"})
                plain.wait_totals("refusals", lambda t: t["errors"].get(expect.REFUSED, 0) >= 20)
                retried.wait_totals("the other to wait", lambda t: t["unanswered"] >= 20)

            for topic in ("plain", "retried"):
                kafka.wait_in_sync(topic)
            retried.wait_totals("all answers", lambda t: t["unanswered"] < 20 and t["acked"] > 0)
            sent, again = plain.end(), retried.end()

            results = {result for result, _ in sent.counts}
            assert results == {"OK", expect.AFTER_APPEND, expect.REFUSED}, sent.counts
            appended = sent.where(lambda r: r["result"] == expect.AFTER_APPEND)
            latest = max(appended.rows, key=lambda r: int(r["done_ns"]))
            late = (latest["done_ns"] - shrunk) / 1e9
            assert late < expect.PROMPT_S, f"the last answer came {late:.1f} s after the ISR was observed to shrink"
            expect.all_acknowledged(again, len(again))

            read = self.read(kafka, "plain")
            expect.once_each([sent], read)
            expect.none_of(sent.where(refused), read)
            assert len(read) == len(sent.ok) + len(appended), f"{len(read)} in the log, {sent.counts} sent"
            retried_read = self.read(kafka, "retried")
            expect.once_each([again], retried_read)
            assert len(retried_read) == len(again), f"{len(again)} records sent, {len(retried_read)} in the log"


def refused(row: Row) -> bool:
    """True if the record was refused before it was appended."""
    return str(row["result"]) == expect.REFUSED
