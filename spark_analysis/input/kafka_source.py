"""A Spark source of records straight from a cluster: ranges of offsets are read in parallel, each by its consumer.

Rows are those of the table `reads`. It is a Python DataSource: Spark's own connector needs a jar
(spark-token-provider-kafka) that not every registry has.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from spark_analysis.errors import AnalysisError
from spark_analysis.input import schemas, spark_schemas

NAME = "rackspan-kafka"
# The load client writes in front of every value: magic, due time, sequence, length of the producer's name.
_MAGIC, _FRONT = 0x52534C31, struct.Struct(">IqqB")
_RANGE, _BATCH = 500_000, 10_000
_PATIENCE_S = 60.0
_ARROW = {"string": pa.string(), "int32": pa.int32(), "int64": pa.int64()}


@dataclass
class Offsets(InputPartition):
    """Records of one partition from an offset to before another."""

    topic: str
    partition: int
    begin: int
    end: int


class KafkaRecords(DataSource):
    """Options: `bootstrap`, and `ranges`: lines of topic, partition, begin, end."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return spark_schemas.table("reads")

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(self.options["bootstrap"], self.options["ranges"])


class _Reader(DataSourceReader):
    def __init__(self, bootstrap: str, ranges: str) -> None:
        self._bootstrap, self._ranges = bootstrap, ranges

    def partitions(self) -> list[InputPartition]:
        lines = [line.split() for line in self._ranges.splitlines()]
        return [
            Offsets(topic, int(partition), start, min(start + _RANGE, int(end)))
            for topic, partition, begin, end in lines
            for start in range(int(begin), int(end), _RANGE)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Offsets)
        consumer = _consumer(self._bootstrap)
        try:
            consumer.assign([TopicPartition(partition.topic, partition.partition, partition.begin)])
            yield from _batches(consumer, partition)
        finally:
            consumer.close()


def _batches(consumer: Any, wanted: Offsets) -> Iterator[pa.RecordBatch]:
    """Batches until the end is reached. Control records and compaction leave gaps: the position counts, not the number
    of records.
    """
    fields = schemas.contract()["tables"]["reads"]["fields"]
    schema = pa.schema([pa.field(f["name"], _ARROW[f["type"]]) for f in fields])
    place = TopicPartition(wanted.topic, wanted.partition)
    heard = time.monotonic()
    while True:
        got = consumer.consume(_BATCH, 1.0)
        for message in got:
            if message.error() is not None and message.error().code() != KafkaError._PARTITION_EOF:
                raise KafkaException(message.error())
        rows = [_row(m) for m in got if m.error() is None and m.offset() < wanted.end]
        if rows:
            heard = time.monotonic()
            yield pa.RecordBatch.from_pylist(rows, schema)
        (position,) = consumer.position([place])
        if max(position.offset, got[-1].offset() + 1 if got else 0) >= wanted.end:
            return
        if time.monotonic() - heard > _PATIENCE_S:
            observed = f"{wanted.topic}-{wanted.partition}: no record for {_PATIENCE_S:g} s at offset {position.offset}"
            raise RuntimeError(f"{observed} of {wanted.end}; check that the partition has a leader")


def _row(message: Any) -> dict[str, Any]:
    value, producer, seq = message.value() or b"", "", -1
    if len(value) >= _FRONT.size:
        magic, _, number, length = _FRONT.unpack_from(value)
        if magic == _MAGIC and len(value) >= _FRONT.size + length:
            producer, seq = value[_FRONT.size : _FRONT.size + length].decode(), number
    place = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
    times = {"timestamp_ms": message.timestamp()[1], "read_ns": time.time_ns()}
    return {**place, "producer": producer, "seq": seq, **times}


def read_topic(
    spark: SparkSession, bootstrap: str, topic: str, patience_s: float = _PATIENCE_S
) -> tuple[DataFrame, dict[str, int]]:
    """Rows of a topic from its first to its last readable record, and the end offsets by partition.

    Raises AnalysisError if the cluster or the topic does not answer.
    """
    consumer = _consumer(bootstrap)
    try:
        found = consumer.list_topics(topic, timeout=patience_s).topics[topic]
        if found.error is not None:
            raise KafkaException(found.error)
        edges = {
            p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=patience_s)
            for p in sorted(found.partitions)
        }
    except KafkaException as e:
        raise AnalysisError(
            f"topic {topic} could not be read back from {bootstrap}",
            observed=str(e.args[0]),
            do="check the address and that every partition has a leader, then try again",
        ) from e
    finally:
        consumer.close()
    spark.dataSource.register(KafkaRecords)
    ranges = "\n".join(f"{topic} {p} {low} {high}" for p, (low, high) in edges.items())
    frame = spark.read.format(NAME).options(bootstrap=bootstrap, ranges=ranges).load()
    return frame, {str(p): high for p, (_, high) in edges.items()}


def _consumer(bootstrap: str) -> Any:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "rackspan-analysis",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
        }
    )
