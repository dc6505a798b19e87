"""Electable sets over time, read from the bytes of a controller's metadata log: in milliseconds, without any tool."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from kafka.record.default_records import DefaultRecordBatch

from harness.cluster.kafka_cluster import KafkaCluster
from harness.recording.log_files import METADATA, batches
from harness.recording.segment_files import longest_metadata_log, segments

_CREATED = 3  # apiKey of PartitionRecord
_CHANGE = 5  # of PartitionChangeRecord
_TAG = 10001  # of the set, in a PartitionChangeRecord (design 3.7)


@dataclass(frozen=True)
class Change:
    """A change of a partition that the controller has written: when, in ns since the epoch, the partition epoch that it
    led to (-1 where the log does not begin with the partition), and the members of the set, None where it stays.
    """

    t_ns: int
    topic_id: UUID
    partition: int
    members: tuple[int, ...] | None
    epoch: int = -1


@dataclass(frozen=True)
class Created:
    """A partition as the controller has created it: its epoch is 0."""

    topic_id: UUID
    partition: int


def changes(cluster: KafkaCluster) -> list[Change]:
    """The changes of electable sets in the metadata log, in order."""
    return [change for change in partition_changes(cluster) if change.members is not None]


def partition_changes(cluster: KafkaCluster) -> list[Change]:
    """All changes of partitions in the metadata log, in order."""
    return numbered(found for data in segments(longest_metadata_log(cluster), METADATA) for found in in_segment(data))


def numbered(records: Iterable[Change | Created]) -> list[Change]:
    """The changes with their partition epochs: 0 is the partition as it was created, and each change adds 1."""
    epochs: dict[tuple[UUID, int], int] = {}
    found = []
    for record in records:
        place = (record.topic_id, record.partition)
        if isinstance(record, Created):
            epochs[place] = 0
            continue
        if place in epochs:
            epochs[place] += 1
        found.append(replace(record, epoch=epochs.get(place, -1)))
    return found


def in_segment(data: bytes) -> list[Change | Created]:
    """The changed and created partitions in one segment; control batches and other records are skipped."""
    found = []
    for at in batches(data):
        batch = DefaultRecordBatch(data[at.position : at.position + at.size])
        if batch.is_control_batch:
            continue
        for record in batch:
            change = of_record(bytes(record.value or b""), record.timestamp * 1_000_000)
            found += [change] if change else []
    return found


def of_record(value: bytes, t_ns: int) -> Change | Created | None:
    """The partition that one record of the metadata log changes or creates; None for any other record."""
    kind, at = _number(value, _number(value, 0)[1])
    if kind not in (_CREATED, _CHANGE):
        return None
    _, at = _number(value, at)  # the version
    (partition,), topic = struct.unpack_from(">i", value, at), UUID(bytes=value[at + 4 : at + 20])
    if kind == _CREATED:
        return Created(topic, partition)
    tags, at = _number(value, at + 20)
    for _ in range(tags):
        tag, at = _number(value, at)
        size, at = _number(value, at)
        if tag == _TAG:
            (count,) = struct.unpack_from(">h", value, at + 1)
            return Change(t_ns, topic, partition, struct.unpack_from(f">{count}i", value, at + 3))
        at += size
    return Change(t_ns, topic, partition, None)


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
