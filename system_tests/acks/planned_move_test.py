"""A planned move of the leader to an in-sync follower that is behind. At level 1 of rackspan.version it loses what was
acknowledged with acks=min.insync.replicas above the high watermark (the window of docs/reference/acks.md); at level 2
nothing is lost, as only a member of the electable set is elected.
"""

from __future__ import annotations

from functools import partial

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.reuse import last_of_its_cluster
from harness.faults.process import nodes_down
from harness.recording.segments import end_offset, stored
from harness.spec.rackspan_level import at_level
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest

MODES = {"quorum": acks.QUORUM, "all": "all"}


class PlannedMove(RackTest):
    """Topics with replicas 1, 3, 2: broker 1 leads and is shut down while 3, its successor, is paused in sync."""

    @last_of_its_cluster
    def test_acknowledged_records_are_lost_at_level_1(self) -> None:
        """Records acknowledged during the pause are lost, as metrics had shown; acks=all acknowledged none."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=acks.LASTING, **at_level(1)), [expect.OVERTAKEN]) as kafka:
            topics = self.topics(kafka)
            producers = {}
            for name, mode in MODES.items():
                topics.create(name, [[1, 3, 2]], min_insync_replicas=2)
                producers[name] = self.producer(kafka, name, name, acks=mode, rate=50, delivery_timeout_ms=120000)
            marker = self.producer(kafka, "marker", "quorum", acks="1", rate=50, delivery_timeout_ms=120000)
            for producer in (*producers.values(), marker):
                producer.wait_totals("the producer to be warm", lambda t: t["acked"] >= 20)
                producer.process.pause()
                acks.wait_answered(producer)
            before = len(producers["quorum"].records()) + len(marker.records())
            wait_for("all to be replicated", lambda: reached(topics.high_watermark("quorum"), before), 20)
            self.wait_metric(kafka, acks.ABOVE_RECORDS, 0)

            with nodes_down(kafka.kafka, "b1", how="pause", events=self.run):
                # A fetch that the follower had sent before may still be answered; these records use it up.
                marked = self.run.event("note", "marker", "point", {"topic": "quorum"})
                marker.process.resume()
                acks.wait_acknowledged(marker, marked, 50)
                marker.process.pause()
                used_up = len(acks.wait_answered(marker).due(marked))

                risky = self.run.event("note", "exposed", "point", {"topic": "quorum"})
                for producer in producers.values():
                    producer.process.resume()
                acks.wait_acknowledged(producers["quorum"], risky, 50)
                producers["quorum"].process.pause()
                exposed = acks.wait_answered(producers["quorum"]).due(risky)
                expect.all_acknowledged(exposed, len(exposed))
                producers["all"].process.pause()
                stalled = producers["all"].records().due(risky)
                assert len(stalled) >= 20 and not stalled.ok, f"acks=all was answered: {stalled.counts}"
                above = kafka.metric(acks.ABOVE_PARTITION, topic="quorum")
                assert above == used_up + len(exposed), f"{above} above, {used_up} and {len(exposed)} were sent"
                assert kafka.metric(acks.ABOVE_PARTITION, topic="all") == 0
                assert kafka.metric(acks.ABOVE_TOTAL) >= len(exposed)

                # The controller hands over at once; the process ends only when no broker lags behind with metadata.
                kafka.node("a1").terminate()
                for topic in MODES:
                    wait_for(f"broker 1 to lead {topic} no more", partial(acks.follows, kafka, "a1", topic), 60)
                self.run.event("note", "leader moved", "point", {"from": 1})

            kafka.kafka.stop("a1", seconds=90)
            for topic in MODES:
                kafka.wait_in_sync(topic, {2, 3}, 60)
            for topic in MODES:
                assert leader(kafka, topic) == 3, f"{topic} is not led by the follower that was paused"
            end = end_offset(kafka.broker(3), "quorum")
            assert before <= end <= before + used_up, f"{end} in the log, {before} before and {used_up} used up"
            wait_for("all to be replicated", lambda: reached(topics.high_watermark("quorum"), end), 30)
            expect.none_of(exposed, self.read(kafka, "quorum"))

            sent = acks.wait_answered(producers["all"])
            expect.all_acknowledged(sent, len(sent))
            kept = self.read(kafka, "all")
            expect.once_each([sent], kept)
            assert len(kept) == len(sent), f"{len(kept)} in the log, {len(sent)} sent"
            logs = {n: stored(kafka.broker(n), "quorum") for n in (1, 2, 3)}
            assert logs[2] == logs[3], f"{len(logs[2])} and {len(logs[3])} records"
            old = {(r.producer, r.seq) for r in logs[1]}
            assert all((r["producer"], r["seq"]) in old for r in exposed.ok), (
                "the old leader lacked records that it had acknowledged"
            )
            self.wait_metric(kafka, acks.ABOVE_RECORDS, 0)

    @last_of_its_cluster
    def test_nothing_is_lost_at_level_2(self) -> None:
        """Records acknowledged during the pause are in a member of the electable set, which leads instead."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=acks.LASTING), [expect.OVERTAKEN]) as kafka:
            assert kafka.kafka.formatted_level == 2, "not the level of a new cluster any more"
            self.topics(kafka).create("quorum", [[1, 3, 2]], min_insync_replicas=2)
            producer = self.producer(kafka, "quorum", "quorum", acks=acks.QUORUM, rate=50, delivery_timeout_ms=120000)
            producer.wait_totals("the producer to be warm", lambda t: t["acked"] >= 20)
            with nodes_down(kafka.kafka, "b1", how="pause", events=self.run):
                risky = self.run.event("note", "exposed", "point", {"topic": "quorum"})
                acks.wait_acknowledged(producer, risky, 100)
                producer.process.pause()
                exposed = acks.wait_answered(producer).due(risky)
                expect.all_acknowledged(exposed, len(exposed))
                assert kafka.metric(acks.ABOVE_PARTITION, topic="quorum") >= 50, "the paused follower lacks records"
                kafka.node("a1").terminate()
                wait_for("broker 1 to lead no more", partial(acks.follows, kafka, "a1", "quorum"), 60)
                self.run.event("note", "leader moved", "point", {"from": 1})
            kafka.kafka.stop("a1", seconds=90)
            kafka.wait_in_sync("quorum", {2, 3}, 60)
            assert leader(kafka, "quorum") == 2, "a follower leads that lacked acknowledged records"
            moved = self.run.event("note", "after the move", "point", {"topic": "quorum"})
            producer.process.resume()
            acks.wait_acknowledged(producer, moved, 50)
            producer.process.pause()
            sent = acks.wait_answered(producer)
            expect.all_acknowledged(sent, len(sent))
            expect.once_each([sent], self.read(kafka, "quorum"))


def reached(offset: int, wanted: int) -> bool | Pending:
    """True if that is the offset."""
    return offset == wanted or Pending(f"{offset} of {wanted}")


def leader(kafka: KafkaRacks, topic: str) -> int:
    """The broker that leads the topic's only partition."""
    return next(p.leader for p in kafka.kafka.view().partitions if p.topic == topic)
