"""Reading a topic back up to its high watermarks, as rows of a run folder."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
from kafka import KafkaConsumer, TopicPartition

from harness.common.wait import Pending, wait_for
from harness.recording.payload import author
from harness.run_folder.run_folder import RunFolder, arrow_schema

Row = dict[str, Any]


def read_back(
    bootstrap: str, topic: str, run: RunFolder, seconds: float = 60.0, *, committed: bool = False
) -> list[Row]:
    """Reads what a consumer can read; files it in the run with the note that says so. Raises WaitTimeout."""
    rows, offsets = readable(bootstrap, topic, seconds, committed=committed)
    run.add_reads(pa.Table.from_pylist(rows, arrow_schema("reads")), topic)
    isolation = "read_committed" if committed else "read_uncommitted"
    data = {"topic": topic, "end_offsets": offsets, "complete": True, "isolation": isolation}
    run.event("note", "read-back", "point", data)
    return rows


def readable(
    bootstrap: str, topic: str, seconds: float = 60.0, *, committed: bool = False
) -> tuple[list[Row], dict[str, int]]:
    """Every record between the start of the topic and what are its high watermarks by now, and these by partition.

    `committed` reads as a transactional consumer does. Raises WaitTimeout.
    """
    # No group: a group would make the internal topic of offsets, which is not part of what is tested.
    isolation = "read_committed" if committed else "read_uncommitted"
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap.split(","), group_id=None, enable_auto_commit=False, isolation_level=isolation
    )
    try:
        found = wait_for(f"partitions of {topic}", lambda: consumer.partitions_for_topic(topic), seconds)
        partitions = [TopicPartition(topic, p) for p in sorted(found)]
        ends: dict[TopicPartition, int] = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        rows: list[Row] = []

        def probe() -> bool | Pending:
            for messages in consumer.poll(timeout_ms=200).values():
                rows.extend(_row(m) for m in messages if m.offset < ends[TopicPartition(topic, m.partition)])
            late = [p.partition for p in partitions if consumer.position(p) < ends[p]]
            return Pending(f"{len(rows)} records, partitions {late} not done") if late else True

        wait_for(f"{topic} to be read back", probe, seconds, every=0.01)
    finally:
        consumer.close(autocommit=False)
    return rows, {str(p.partition): end for p, end in ends.items()}


def _row(message: Any) -> Row:
    producer, seq = author(message.value)
    return {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "producer": producer,
        "seq": seq,
        "timestamp_ms": message.timestamp,
        "read_ns": time.time_ns(),
    }
