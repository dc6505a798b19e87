"""A rack dies under producers with acks=min.insync.replicas: each is answered at once as its topic requires."""

from __future__ import annotations

from functools import partial

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.load_service import Acks, LoadService
from harness.ducktape_support.steered_service import Row
from harness.faults.rack import rack_down
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest

# A request that waits at a leader which dies ends with its connection, or with the news of the next leader.
LEADER_GONE = {"NETWORK_EXCEPTION", "NOT_LEADER_OR_FOLLOWER"}


class RackLost(RackTest):
    """Brokers 1 and 2 in rack a, 3 in b, 4 in c; rack b is killed and comes back."""

    def test_refused_where_the_span_is_gone(self) -> None:
        """Refused on one rack, acknowledged on two, the dead leader's requests end; each record is answered once."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=acks.CALM)) as kafka:
            topics = self.topics(kafka)
            for topic, replicas in (("gone", [1, 2, 3]), ("kept", [1, 3, 4]), ("led", [3, 1, 4])):
                topics.create(topic, [replicas], min_insync_replicas=2, min_insync_racks=2)
            producers = {
                t: self.producer(kafka, t, t, acks=acks.QUORUM, rate=50, retries=0, delivery_timeout_ms=60000)
                for t in ("gone", "kept", "led")
            }
            for producer in producers.values():
                producer.wait_totals("the producer to be served", lambda t: t["acked"] >= 50)
            certain = topics.high_watermark("led")

            with rack_down(kafka.kafka, "b", how="pause", events=self.run):
                for topic in ("gone", "led"):  # what waits for the rack, and what waits at it, when it dies
                    wait_for(f"requests of {topic} to wait", partial(waiting, producers[topic]), 30, every=0.01)
                kafka.kafka.kill("rack:b")
                kafka.wait_in_sync("gone", {1, 2})
                shrunk = self.run.event("note", "isr-shrunk", "point", {"topic": "gone"})
                for topic in ("kept", "led"):
                    kafka.wait_in_sync(topic, {1, 4})
                producers["gone"].wait_totals("refusals", lambda t: t["errors"].get(expect.REFUSED, 0) >= 20)
                for topic in ("kept", "led"):
                    acks.wait_acknowledged(producers[topic], shrunk, 50)
                for producer in producers.values():
                    producer.process.pause()
                    acks.wait_answered(producer)

            for topic, producer in producers.items():
                kafka.wait_in_sync(topic)
                back = self.run.event("note", "isr-restored", "point", {"topic": topic})
                producer.process.resume()
                acks.wait_acknowledged(producer, back, 20)
            sent = {topic: self.reported_once(producer) for topic, producer in producers.items()}

            results = {topic: {result for result, _ in s.counts} for topic, s in sent.items()}
            assert results["gone"] == {"OK", expect.AFTER_APPEND, expect.REFUSED}, sent["gone"].counts
            appended = sent["gone"].where(lambda r: r["result"] == expect.AFTER_APPEND)
            late = max((r["done_ns"] - shrunk) / 1e9 for r in appended.rows)
            assert late < expect.PROMPT_S, f"the last answer came {late:.1f} s after the ISR was observed to shrink"
            expect.all_acknowledged(sent["kept"], len(sent["kept"]))
            assert results["led"] - {"OK"} and results["led"] <= {"OK", *LEADER_GONE}, sent["led"].counts

            read = self.read(kafka, "gone")
            expect.once_each([sent["gone"]], read)
            expect.none_of(sent["gone"].where(refused), read)
            assert len(read) == len(sent["gone"].ok) + len(appended), f"{len(read)} in the log, {sent['gone'].counts}"
            kept = self.read(kafka, "kept")
            expect.once_each([sent["kept"]], kept)
            assert len(kept) == len(sent["kept"]), f"{len(kept)} in the log, {len(sent['kept'])} sent"
            expect.lost_only_above(sent["led"], self.read(kafka, "led"), certain)

    def reported_once(self, producer: LoadService) -> Acks:
        """Counts the records by result; each was answered exactly once."""
        sent = producer.end()
        totals = producer.process.lines[-1]
        answers = totals["acked"] + sum(totals["errors"].values())
        assert answers == len(sent) and all(r["result"] for r in sent.rows), f"{totals} for {len(sent)} records"
        return sent


def waiting(producer: LoadService) -> bool | Pending:
    """True if a record that is not answered yet was sent some time ago."""
    sent = producer.records()
    open_ = [r for r in sent.rows[:-20] if not r["result"]]
    return bool(open_) or Pending(f"{sent.counts}")


def refused(row: Row) -> bool:
    """True if the record was refused before it was appended."""
    return str(row["result"]) == expect.REFUSED
