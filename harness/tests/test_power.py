"""Power cuts: the files that are left, and the recovery of a real broker from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from kafka import KafkaProducer
from kafka.record import MemoryRecordsBuilder

from harness.admin.topics import Topics
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import RackspanError
from harness.faults.power import lose_unflushed, power_cut
from harness.recording import payload
from harness.recording.log_files import METADATA, Cut, Loss, batches, loss, recovery_points
from harness.recording.replica_logs import replica_rows
from harness.run_folder.run_folder import RunFolder, read_events
from harness.tests.conftest import small


def batch(first: int, records: int) -> bytes:
    """A record batch as it is on disk."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=100_000)
    for seq in range(first, first + records):
        builder.append(timestamp=1, key=None, value=payload.value("p", seq, 1))
    builder.close()
    return first.to_bytes(8, "big") + bytes(builder.buffer())[8:]  # as a broker does when it appends the batch


def taken(contents: Mapping[str, bytes], points: Mapping[str, int], **how: object) -> Loss:
    sizes = {path: len(data) for path, data in contents.items()}
    return loss(sizes, points, contents.__getitem__, **{"voter": False, **how})  # type: ignore[arg-type]


def test_recovery_points_are_read_from_each_log_folder() -> None:
    assert recovery_points("0\n2\norders 1 7\nwith-dash 0 0\n") == {"orders-1": 7, "with-dash-0": 0}
    assert recovery_points("") == {}


def test_batches_end_where_one_is_torn_or_there_are_zeros() -> None:
    complete = batch(0, 3) + batch(3, 2)
    found = [(b.first, b.last) for b in batches(complete)]
    assert found == [(0, 2), (3, 4)]
    assert [(b.first, b.last) for b in batches(complete[:-1])] == [(0, 2)]
    assert [(b.first, b.last) for b in batches(complete + bytes(500))] == found
    assert batches(b"") == []


def test_records_after_the_recovery_point_are_lost() -> None:
    first, second = batch(0, 3), batch(3, 2)
    contents = {
        "t-0/00000000000000000000.log": first + second,
        "t-0/00000000000000000000.index": bytes(100),
        "t-0/00000000000000000003.snapshot": b"x",
        "t-0/00000000000000000005.snapshot": b"x",
        "t-0/leader-epoch-checkpoint": b"x",
        "u-0/00000000000000000000.log": first,
        "v-0-delete/00000000000000000000.log": first,
        "meta.properties": b"x",
    }
    points = {"t-0": 3, "u-0": 3}
    found = taken(contents, points)
    assert found.sizes == (("t-0/00000000000000000000.log", len(first)),)
    assert found.zeroed == (("t-0/00000000000000000000.index", 0, 100),)
    assert found.removed == ("t-0/00000000000000000005.snapshot",)
    assert found.cuts == (Cut("t", 0, 3, 5),)
    torn = taken(contents, points, tail="torn")
    assert torn.sizes == (("t-0/00000000000000000000.log", len(first) + len(second) // 2),)
    zeros = taken(contents, points, tail="zeros")
    complete = len(first) + len(second)
    assert zeros.zeroed[0] == ("t-0/00000000000000000000.log", len(first), complete)


def test_segments_after_the_recovery_point_are_removed() -> None:
    contents = {
        "t-0/00000000000000000000.log": batch(0, 3),
        "t-0/00000000000000000003.log": batch(3, 3),
        "t-0/00000000000000000006.log": batch(6, 3),
        "t-0/00000000000000000006.index": bytes(10),
    }
    flushed_to_a_roll = taken(contents, {"t-0": 6})
    assert flushed_to_a_roll.sizes == ()
    assert flushed_to_a_roll.removed == ("t-0/00000000000000000006.log", "t-0/00000000000000000006.index")
    assert flushed_to_a_roll.cuts == (Cut("t", 0, 6, 9),)
    never_flushed = taken(contents, {})
    assert never_flushed.sizes == (("t-0/00000000000000000000.log", 0),)
    assert len(never_flushed.removed) == 3
    assert never_flushed.cuts == (Cut("t", 0, 0, 9),)


def test_only_a_voter_keeps_its_metadata_log() -> None:
    contents = {f"{METADATA}/00000000000000000000.log": batch(0, 3)}
    assert taken(contents, {}, voter=True) == Loss((), (), (), ())
    assert taken(contents, {}).cuts == (Cut("__cluster_metadata", 0, 0, 3),)


@pytest.mark.cluster
def test_a_broker_restarts_with_the_records_that_it_had_flushed(home: Path, tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "power") as run, KafkaCluster.running(small("power", metrics=False)) as cluster:
        node = cluster.node("a1")
        with pytest.raises(RackspanError, match="kill it first"):
            lose_unflushed(node)
        topics(cluster)
        produce(cluster, 0, 20)
        cluster.stop("a1")  # flushes everything
        assert lose_unflushed(node).cuts == ()
        cluster.start("a1")
        for tail in ("none", "torn", "zeros"):
            produce(cluster, 20, 30)
            assert offsets(cluster) == list(range(30))
            with power_cut(cluster, "a1", tail=tail, events=run):
                pass
            assert offsets(cluster) == list(range(20))
        produce(cluster, 20, 25)
        assert offsets(cluster) == list(range(25))
    lost = [e["data"] for e in read_events(run.path) if e["name"] == "power_cut lost"]
    assert [[c for c in d["logs"] if c["topic"] == "t"] for d in lost] == [
        [{"topic": "t", "partition": 0, "flushed": 20, "end": 30}]
    ] * 3


def topics(cluster: KafkaCluster) -> None:
    Topics(cluster.bootstrap).create("t", [[1]])


def produce(cluster: KafkaCluster, begin: int, end: int) -> None:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all", retries=5)
    sent = [producer.send("t", payload.value("p", seq, 1), partition=0) for seq in range(begin, end)]
    for future in sent:
        future.get(60)
    producer.close()


def offsets(cluster: KafkaCluster) -> list[int]:
    rows = replica_rows(cluster.node("a1"), "t", 0)
    assert [r["seq"] for r in rows] == [r["offset"] for r in rows]
    return [r["offset"] for r in rows]
