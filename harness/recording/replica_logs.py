"""Every replica of a topic as it is on disk, from start to end, as rows of a run folder."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from kafka.record.default_records import DefaultRecordBatch

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.node import KafkaNode
from harness.common.errors import RackspanError
from harness.common.wait import Pending, wait_for
from harness.recording.log_files import batches
from harness.recording.payload import content
from harness.recording.segment_files import segments
from harness.run_folder.run_folder import RunFolder, arrow_schema

Row = dict[str, Any]
Assignment = Mapping[int, list[int]]  # partition -> broker ids


def read_replicas(
    cluster: KafkaCluster, run: RunFolder, topic: str, assignment: Assignment, seconds: float = 60.0
) -> bool:
    """Files the log of every replica, once they have all come to the same end; nothing may write to the topic.

    Returns whether they came to the same end in time: if not, they are filed as they are, for the checker to say how
    they differ. A log that cannot be read gets no note, so that the check counts as not made.
    """
    same = True
    try:
        wait_for(
            f"the replicas of {topic} to end alike", lambda: _alike(cluster, topic, assignment), seconds, every=0.5
        )
    except RackspanError:
        same = False
    for partition, brokers in sorted(assignment.items()):
        for broker in brokers:
            node = _broker(cluster, broker)
            read = segments(node, f"{topic}-{partition}")
            rows = [row for data in read for row in parse(data, node, topic, partition)]
            if rows:
                run.add_replicas(pa.Table.from_pylist(rows, arrow_schema("replicas")), f"{topic}-{partition}-{broker}")
            reported = {"topic": topic, "partition": partition, "node": node.name, "broker": broker}
            run.event("note", "replica", "point", reported | {"end_offset": _end_of(rows, read)})
    return same


def _end_of(rows: list[Row], read: list[bytes]) -> int:
    """The offset behind the last record; 0 for an empty log, -1 where there is none."""
    return rows[-1]["offset"] + 1 if rows else 0 if read else -1


def replica_rows(node: KafkaNode, topic: str, partition: int) -> list[Row]:
    """The rows of one replica's log; none if the node has no such log."""
    return [row for data in segments(node, f"{topic}-{partition}") for row in parse(data, node, topic, partition)]


def parse(data: bytes, node: KafkaNode, topic: str, partition: int) -> list[Row]:
    """The rows of one segment. A batch cut short at its end is skipped."""
    rows: list[Row] = []
    for at in batches(data):
        batch = DefaultRecordBatch(data[at.position : at.position + at.size])
        common = {
            "node": node.name,
            "broker": node.node.id,
            "topic": topic,
            "partition": partition,
            "leader_epoch": batch.leader_epoch,
            "batch_crc": batch.crc,
            "control": int(batch.is_control_batch),
        }
        for record in batch:
            value = None if batch.is_control_batch else record.value
            producer, seq, due_ns = content(value)
            own = {"offset": record.offset, "producer": producer, "seq": seq, "due_ns": due_ns}
            rows.append(common | own | {"timestamp_ms": record.timestamp, "value_crc": zlib.crc32(value or b"")})
    return rows


def _alike(cluster: KafkaCluster, topic: str, assignment: Assignment) -> bool | Pending:
    for partition, brokers in sorted(assignment.items()):
        ends = {broker: _end(_broker(cluster, broker), topic, partition) for broker in brokers}
        if len(set(ends.values())) > 1:
            return Pending(f"{topic}-{partition} ends by broker: {ends}")
    return True


def _end(node: KafkaNode, topic: str, partition: int) -> int:
    found = [b for data in segments(node, f"{topic}-{partition}") for b in batches(data)[-1:]]
    return found[-1].last + 1 if found else 0


def _broker(cluster: KafkaCluster, broker: int) -> KafkaNode:
    return cluster.node(next(n.name for n in cluster.plan.brokers if n.id == broker))
