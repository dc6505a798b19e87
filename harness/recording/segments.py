"""The log of a replica on disk: records above the high watermark too, which no consumer can see."""

from __future__ import annotations

from dataclasses import dataclass

from kafka.record import MemoryRecords

from harness.cluster.node import KafkaNode
from harness.recording.payload import author
from harness.recording.segment_files import segments


@dataclass(frozen=True)
class Stored:
    """One record on disk; `producer` is "" and `seq` -1 if no load client wrote it."""

    offset: int
    producer: str
    seq: int


def stored(node: KafkaNode, topic: str, partition: int = 0) -> list[Stored]:
    """Records in the log of one replica, in order; none if the node has no such log."""
    return [record for data in segments(node, f"{topic}-{partition}") for record in parse(data)]


def end_offset(node: KafkaNode, topic: str, partition: int = 0) -> int:
    """The offset behind the last record on disk; 0 for an empty log."""
    records = stored(node, topic, partition)
    return records[-1].offset + 1 if records else 0


def parse(data: bytes) -> list[Stored]:
    """Records of a segment. A batch cut short at the end is skipped."""
    found: list[Stored] = []
    batches = MemoryRecords(data)
    while batches.has_next():
        batch = batches.next_batch()
        if batch is None:
            break
        if getattr(batch, "is_control_batch", False):
            continue
        found += [Stored(record.offset, *author(record.value)) for record in batch]
    return found
