"""Electable sets over time, read from the bytes of a controller's metadata log: in milliseconds, without any tool."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from uuid import UUID

from kafka.record.default_records import DefaultRecordBatch

from harness.cluster.kafka_cluster import KafkaCluster
from harness.recording.log_files import METADATA, batches
from harness.recording.segment_files import longest_metadata_log, segments

_CHANGE = 5  # apiKey of PartitionChangeRecord
_TAG = 10001  # of the set, in a PartitionChangeRecord (design 3.7)


@dataclass(frozen=True)
class Change:
    """A set that the controller has written: when, in ns since the epoch, for which partition, and its members."""

    t_ns: int
    topic_id: UUID
    partition: int
    members: tuple[int, ...]


def changes(cluster: KafkaCluster) -> list[Change]:
    """The changes of electable sets in the metadata log, in order."""
    return [change for data in segments(longest_metadata_log(cluster), METADATA) for change in in_segment(data)]


def in_segment(data: bytes) -> list[Change]:
    """The changes in one segment; control batches and other records are skipped."""
    found = []
    for at in batches(data):
        batch = DefaultRecordBatch(data[at.position : at.position + at.size])
        if batch.is_control_batch:
            continue
        for record in batch:
            change = of_record(bytes(record.value or b""), record.timestamp * 1_000_000)
            found += [change] if change else []
    return found


def of_record(value: bytes, t_ns: int) -> Change | None:
    """The change in one record of the metadata log; None if it changes no set."""
    kind, at = _number(value, _number(value, 0)[1])
    if kind != _CHANGE:
        return None
    _, at = _number(value, at)  # the version
    (partition,), topic = struct.unpack_from(">i", value, at), UUID(bytes=value[at + 4 : at + 20])
    tags, at = _number(value, at + 20)
    for _ in range(tags):
        tag, at = _number(value, at)
        size, at = _number(value, at)
        if tag == _TAG:
            (count,) = struct.unpack_from(">h", value, at + 1)
            return Change(t_ns, topic, partition, struct.unpack_from(f">{count}i", value, at + 3))
        at += size
    return None


def _number(value: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint, and the position behind it; 0 at the end of the value."""
    found, shift = 0, 0
    while at < len(value):
        byte = value[at]
        at += 1
        found |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return found, at
