"""KIP-637: a producer that knows what its topics require avoids partitions that would refuse its writes."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pyarrow.parquet as pq
from kafka.partitioner.default import murmur2

from harness.cluster.cluster_view import view
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import LoadService
from harness.ducktape_support.steered_service import Row
from harness.faults.process import nodes_down
from harness.recording.metadata_timeline import read_timeline
from harness.run_folder.run_folder import RunFolder
from system_tests.lib import acks, expect
from system_tests.lib.base import PATIENT, RackTest

# Broker 3 stops: partition 1 is left with one replica in one rack, partition 0 lacks nothing.
ASSIGNMENT = ((1, 2), (2, 3))
TOPICS = {"replicas": {"min_insync_replicas": 2}, "racks": {"min_insync_racks": 2}}
SURE, STRICKEN = 0, 1

RATE = 50.0
# Batches of four records or so: producers choose partitions all the time, and by readiness alone. Requests may all be
# waiting when the replica leaves; then nothing is refused, and a producer learns of it when one times out.
PROPERTIES = {
    "batch.size": "1000",
    "partitioner.adaptive.partitioning.enable": "false",
    "request.timeout.ms": "5000",
}
UNKEYED: dict[str, Any] = {"spread": "sticky", "rate": RATE, "duration": 300, "properties": PROPERTIES}
QUIET = 80  # records in a row for one partition: nobody does that by chance
IN_FLIGHT = 25
BACK_S = 60.0  # 2 s are promised; the machine may be busy, and without the feature it is metadata.max.age.ms: minutes


class AvoidedPartitions(RackTest):
    """Our producers and the stock one write to the same topics; one partition of each topic is in an outage."""

    def test_load_avoids_an_outage_and_returns(self) -> dict[str, float]:
        """Records without a key go to the other partition within seconds, and back; others stay where they belong."""
        with self.racks(self.spec("a:1,b:1,c:1", settings=PATIENT), [expect.REPLICAS_REFUSED]) as kafka:
            for topic, settings in TOPICS.items():
                self.topics(kafka).create(topic, ASSIGNMENT, **settings)
            ours = {topic: self.producer(kafka, f"ours-{topic}", topic, **UNKEYED) for topic in TOPICS}
            stock = {t: self.producer(kafka, f"stock-{t}", t, client="stock", **UNKEYED) for t in TOPICS}
            one = self.producer(kafka, "acks-1", "replicas", acks="1", **UNKEYED)
            keyed = self.producer(kafka, "keyed", "racks", spread="keyed", rate=RATE, duration=300)
            for load in (*ours.values(), *stock.values(), one, keyed):
                wait_for(f"{load.produce.producer} to use both", partial(uses, load, STRICKEN, 0), 60)

            with nodes_down(kafka.kafka, "c1", how="stop", events=self.run):
                wait_for("all brokers to know it", lambda: everyone_knows(kafka), 30)
                known = time.time_ns()
                begin = max(
                    wait_for(f"our producer to avoid {topic}-{STRICKEN}", partial(avoids, load, known), 60)
                    for topic, load in ours.items()
                )
                for load in ours.values():
                    acks.wait_acknowledged(load, begin, 3 * QUIET)
                end = time.time_ns()
            for load in (*ours.values(), one):
                wait_for(f"{load.produce.producer} to come back", partial(uses, load, STRICKEN, end), 60)
            for load in (*stock.values(), keyed):
                load.wait_totals("what waited to be served", lambda t: t["unanswered"] < IN_FLIGHT, 60)

            figures: dict[str, float] = {}
            for topic, load in ours.items():
                figures |= self.avoidance(load, topic, begin, end)
            read_timeline(kafka.kafka, self.run, TOPICS)
            for topic, load in ours.items():
                figures |= in_time(load, topic, self.run, end)
            for topic, load in stock.items():
                figures |= lost_time(load, topic, known, end)
            untouched(one, begin, end)
            stayed(keyed, begin, end)
            self.run.event("note", "avoided-partitions", "point", figures)
            self.logger.info("seconds and records: %s", figures)
            return figures

    def avoidance(self, load: LoadService, topic: str, begin: int, end: int) -> dict[str, float]:
        """All is acknowledged, the buffer never made the producer wait, and the outage cost it nothing."""
        sent = load.end()
        expect.all_acknowledged(sent, len(sent))
        during = sent.due(begin, end)
        strays = [r["seq"] for r in during.rows if r["partition"] != SURE]
        assert not strays, f"{len(strays)} of {len(during)} records of {topic} were put where they are refused"
        metrics = load.process.lines[-1]["metrics"]
        assert metrics["bufferpool-wait-time-ns-total"] == 0, metrics
        in_time = [r for r in during.rows if r["done_ns"] < end]
        return {f"{topic}: ours, acknowledged a second in the outage": len(in_time) / ((end - begin) / 1e9)}


def everyone_knows(kafka: KafkaRacks) -> bool | Pending:
    """True once every running broker's metadata shows the partitions without broker 3."""
    kafka.kafka.backend.enter()
    for node in kafka.running():
        late = [p for p in view([node.node.endpoint]).partitions if p.partition == STRICKEN and 3 in p.isr]
        if late:
            return Pending(f"{node.name} reports {late}")
    return True


def uses(load: LoadService, partition: int, since: int) -> bool | Pending:
    """True once a record due after that moment was acknowledged by that partition."""
    due = load.records().due(since)
    return any(r["partition"] == partition for r in due.ok) or Pending(f"{due.counts}")


def avoids(load: LoadService, since: int) -> int | Pending:
    """The time (epoch ns) since which the other partition alone acknowledged records, the newest excepted."""
    row = load.records().due(since).rows[:-IN_FLIGHT][-QUIET:]
    late = [r for r in row if r["result"] != "OK" or r["partition"] != SURE]
    return row[0]["due_ns"] if len(row) == QUIET and not late else Pending(f"{len(late)} of {len(row)} not there")


def in_time(load: LoadService, topic: str, run: RunFolder, end: int) -> dict[str, float]:
    """The time that the producer took to notice both ends of the outage; it returned in time."""
    changes = [r for r in isr_changes(run, topic) if r["t_ns"] > load.records().rows[0]["due_ns"]]
    lost = next(r["t_ns"] for r in changes if r["isr_size"] == 1)
    back = next(r["t_ns"] for r in changes if r["isr_size"] == 2 and r["t_ns"] > lost)
    used = [r["due_ns"] for r in load.records().ok if r["partition"] == STRICKEN]
    noticed = max((due for due in used if due < end), default=lost) - lost
    came_back = min(due for due in used if due > back) - back
    assert came_back / 1e9 < BACK_S, f"{topic} was used again {came_back / 1e9:.1f} s after it was ready"
    return {f"{topic}: ours, noticed after": noticed / 1e9, f"{topic}: ours, back after": came_back / 1e9}


def isr_changes(run: RunFolder, topic: str) -> list[Row]:
    """Changes of the stricken partition as the controller made them, in order."""
    rows: list[Row] = pq.read_table(run.path / "partitions").to_pylist()
    mine = [r for r in rows if r["topic"] == topic and r["partition"] == STRICKEN]
    return sorted(mine, key=lambda r: int(r["metadata_offset"]))


def lost_time(load: LoadService, topic: str, known: int, end: int) -> dict[str, float]:
    """The stock client continues putting records where they are refused; they wait for the end of the outage."""
    sent = load.end()
    waited = sent.due(known, end).where(lambda r: r["partition"] == STRICKEN)
    assert len(waited) > 0, f"the stock client lost nothing in {topic}: {sent.counts}"
    early = [r["seq"] for r in waited.rows if 0 < r["done_ns"] < end]
    assert not early, f"{len(early)} records were answered in the outage"
    longest = max(r["done_ns"] - r["due_ns"] for r in waited.rows) / 1e9
    return {f"{topic}: stock, records that waited": len(waited), f"{topic}: stock, longest wait": longest}


def untouched(load: LoadService, begin: int, end: int) -> None:
    """With acks=1 both partitions are as good as ever."""
    sent = load.end()
    expect.all_acknowledged(sent, len(sent))
    used = {r["partition"] for r in sent.due(begin, end).rows if r["done_ns"] < end}
    assert used == {SURE, STRICKEN}, f"a producer with acks=1 used {used}"


def stayed(load: LoadService, begin: int, end: int) -> None:
    """Each key is where it belongs; those of the stricken partition waited."""
    sent = load.end()
    expect.all_acknowledged(sent, len(sent))
    moved = [r["seq"] for r in sent.rows if r["partition"] != home(r["seq"])]
    assert not moved, f"{len(moved)} records with a key were moved, first {moved[:5]}"
    early = [r["seq"] for r in sent.due(begin, end).rows if r["partition"] == STRICKEN and r["done_ns"] < end]
    assert not early, f"{len(early)} records were answered in the outage"


def home(seq: int) -> int:
    """The partition of a record of the load client with a key: its number, 8 bytes."""
    return int(murmur2(seq.to_bytes(8, "big")) & 0x7FFFFFFF) % len(ASSIGNMENT)
