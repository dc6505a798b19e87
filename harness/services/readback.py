"""Reading a topic back up to its high watermarks, as rows of a run folder."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from harness.results import RunFolder, arrow_schema
from harness.services.payload import author
from harness.wait import Pending, wait_for

Row = dict[str, Any]


def read_back(bootstrap: str, topic: str, run: RunFolder, seconds: float = 30.0) -> list[Row]:
    """Every record between the start of the topic and its present high watermarks; filed in the run, with the note that
    makes it count as read. Raises WaitTimeout.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "read-back",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "log_level": 0,
        }
    )
    try:
        partitions = sorted(consumer.list_topics(topic, timeout=seconds).topics[topic].partitions)
        ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=seconds)[1] for p in partitions}
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions if ends[p] > 0])
        waiting = {p for p in partitions if ends[p] > 0}
        rows: list[Row] = []

        def probe() -> bool | Pending:
            for message in consumer.consume(num_messages=1000, timeout=0.2) if waiting else ():
                if message.error() is None and message.offset() < ends[message.partition()]:
                    rows.append(_row(message))
            for p in consumer.position([TopicPartition(topic, p) for p in waiting]) if waiting else ():
                if p.offset >= ends[p.partition]:
                    waiting.discard(p.partition)
            return Pending(f"{len(rows)} records, partitions {sorted(waiting)} not done") if waiting else True

        wait_for(f"{topic} to be read back", probe, seconds, every=0.01)
    finally:
        consumer.close()
    run.add_reads(pa.Table.from_pylist(rows, arrow_schema("reads")), topic)
    found = {str(p): end for p, end in ends.items()}
    data = {"topic": topic, "end_offsets": found, "complete": True, "isolation": "read_uncommitted"}
    run.event("note", "read-back", "point", data)
    return rows


def _row(message: Any) -> Row:
    producer, seq = author(message.value())
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "producer": producer,
        "seq": seq,
        "timestamp_ms": message.timestamp()[1],
        "read_ns": time.time_ns(),
    }
