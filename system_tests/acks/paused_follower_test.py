"""One follower is paused while in sync: acks=min.insync.replicas continues, acks=all gets no answer."""

from __future__ import annotations

import time

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks
from harness.faults.process import nodes_down
from harness.recording.metrics import total
from harness.recording.readback import readable
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest

FLOOR_MS = 1000.0  # a machine that stalls now and then is no reason to fail
MODES = {"quorum": acks.QUORUM, "all": "all", "one": "1"}


class PausedFollower(RackTest):
    """Three producers on one partition, one for each acks; its third replica is paused for a while."""

    def test_quorum_keeps_its_latency_while_all_stalls(self) -> None:
        """Latency, exposure, what consumers see, and requests by acks."""
        with self.racks(self.spec("a:1,b:1,c:1", settings=acks.LASTING), shared=False) as kafka:
            self.topics(kafka).create("t", [[1, 2, 3]], min_insync_replicas=2)
            producers = {
                name: self.producer(kafka, name, "t", acks=mode, rate=50, delivery_timeout_ms=120000)
                for name, mode in MODES.items()
            }
            for producer in producers.values():  # a cold client may ask the paused broker for what it needs to begin
                producer.wait_totals("the producer to be warm", lambda t: t["acked"] >= 100)
            with self.run.phase("quiet"):
                quiet_ns = time.time_ns()
                acks.wait_acknowledged(producers["quorum"], quiet_ns, 100)
            counted = acks.requests(kafka)

            with nodes_down(kafka.kafka, "c1", how="pause", events=self.run):
                paused_ns = time.time_ns()
                for name in ("quorum", "one"):
                    acks.wait_acknowledged(producers[name], paused_ns, 150)
                assert kafka.in_sync("t") == {0: {1, 2, 3}}, "the follower left the ISR, so nothing was shown"
                samples = kafka.samples()
                assert total(samples, acks.ABOVE_RECORDS) >= 150, total(samples, acks.ABOVE_RECORDS)
                assert total(samples, acks.ABOVE_BYTES) >= 150 * 200, total(samples, acks.ABOVE_BYTES)
                # gauges are read one after the other, and records continue coming
                wait_for("the broker's count to be that of its only partition", lambda: counts_agree(kafka), 20)
                observed, _ = readable(kafka.bootstrap, "t")
                resumed_ns = time.time_ns()

            acks.wait_acknowledged(producers["all"], resumed_ns, 50)
            sent = {name: producer.end() for name, producer in producers.items()}
            during = {name: s.due(paused_ns, resumed_ns) for name, s in sent.items()}
            for s in sent.values():
                expect.all_acknowledged(s, len(s))
            early = [r for r in during["all"].ok if r["done_ns"] < resumed_ns]
            assert during["all"].rows and not early, f"acks=all was answered without the follower: {early[:3]}"
            self.latency_kept(sent["quorum"].due(quiet_ns, paused_ns), during["quorum"])
            expect.none_of(during["quorum"], observed)
            grown = later(kafka, counted)
            assert all(grown[mode] > 0 for mode in MODES.values()) and grown["0"] == 0, grown

            for name, mode in (("silent", "0"), ("number", acks.NUMBER)):
                sent[name] = self.produce(kafka, name, "t", 10, acks=mode)
                expect.all_acknowledged(sent[name], 10)
            wanted = {acks.QUORUM: 10, "all": 0, "0": 10, "1": 0}
            wait_for("each request to count once", lambda: later(kafka, counted, grown) == wanted, 20)
            samples = kafka.samples()
            slowest = {m: total(samples, acks.LATENCY_MS, acks=m, stat="Max") for m in MODES.values()}
            assert slowest["all"] > (resumed_ns - paused_ns) / 1e6 / 2, f"longest answers {slowest} ms"
            self.wait_metric(kafka, acks.ABOVE_RECORDS, 0)
            self.wait_metric(kafka, acks.ABOVE_BYTES, 0)
            read = self.read(kafka, "t")
            expect.once_each([s for name, s in sent.items() if name != "silent"], read)  # acks=0 gets no offset
            assert len(read) == sum(len(s) for s in sent.values()), f"{len(read)} in the log"

    def latency_kept(self, quiet: Acks, paused: Acks) -> None:
        """The median of the pause is below ten times that of the quiet stretch, or below the floor."""
        before, during = acks.median_ms(quiet.ok), acks.median_ms(paused.ok)
        self.run.event("note", "median latency", "point", {"quiet_ms": before, "paused_ms": during})
        assert during < max(10 * before, FLOOR_MS), f"median {during:.1f} ms in the pause, {before:.1f} ms before"


def counts_agree(kafka: KafkaRacks) -> bool | Pending:
    """True if the records above the high watermark are those of partition t-0."""
    samples = kafka.samples()
    everywhere, own = total(samples, acks.ABOVE_RECORDS), total(samples, acks.ABOVE_PARTITION, topic="t")
    return everywhere == own or Pending(f"{everywhere} in all, {own} of the partition")


def later(kafka: KafkaRacks, *earlier: dict[str, int]) -> dict[str, int]:
    """Requests by acks, without those counted earlier."""
    return {mode: n - sum(e[mode] for e in earlier) for mode, n in acks.requests(kafka).items()}
