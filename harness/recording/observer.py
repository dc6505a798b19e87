"""A consumer that follows a topic while faults come and go, and queries high watermarks meanwhile."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # exported without saying so
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from harness.common.wait import wait_for
from harness.recording.payload import content
from harness.run_folder.run_folder import RunFolder, arrow_schema

Row = dict[str, Any]
_ASK_SECONDS = 2.0
_SILENT_SECONDS = 3.0  # a client that received nothing for as long is replaced: it may wait for a broker that is gone
_LATE_SECONDS = 20.0  # after the end, for what the logs have by then

logging.getLogger("kafka").setLevel(logging.CRITICAL)


class Observer:
    """Follows all partitions of one topic in threads of this process, from entry to exit; what it saw is filed then.

    `bootstrap` is called for each new connection, since brokers come and go.
    """

    def __init__(self, run: RunFolder, topic: str, partitions: int, bootstrap: Callable[[], str]) -> None:
        self._run = run
        self._topic = topic
        self._partitions = range(partitions)
        self._bootstrap = bootstrap
        self._ended = threading.Event()
        self._polls: list[Row] = []
        self._marks: list[Row] = []
        self._failed: list[Exception] = []
        self._reached: dict[int, int] = {}
        watched = [(self._until_it_fails, task) for task in (self._follow, self._ask)]
        self._threads = [threading.Thread(target=target, args=(task,), daemon=True) for target, task in watched]

    @property
    def update(self) -> int:
        """Records given to the consumer so far."""
        return len(self._polls)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None and not self._failed:
            self._until_it_fails(self._catch_up)
        self._ended.set()
        for thread in self._threads:
            thread.join(30)
        for error in self._failed:
            self._run.event(
                "note", "observer-failed", "point", {"topic": self._topic, "error": f"{type(error).__name__}: {error}"}
            )
        if self._polls:
            self._run.add_polls(pa.Table.from_pylist(list(self._polls), arrow_schema("polls")), "observer")
        if self._marks:
            self._run.add_watermarks(pa.Table.from_pylist(list(self._marks), arrow_schema("watermarks")), "observer")

    def _catch_up(self) -> None:
        """Waits until what the partitions have now was received. Raises WaitTimeout."""
        ends: dict[int, int] = {}

        def reached() -> bool:
            if len(ends) < len(self._partitions):
                ends.update((partition, found.offset) for partition, found in self._answers())
            behind = [p for p in self._partitions if p not in ends or self._reached.get(p, 0) < ends[p]]
            return bool(self._failed) or not behind

        wait_for(f"the observer of {self._topic} to catch up", reached, _LATE_SECONDS)

    def _until_it_fails(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception as e:  # noted at the end: what follows is not observed, but the run continues
            self._failed.append(e)

    def _follow(self) -> None:
        positions = {TopicPartition(self._topic, p): 0 for p in self._partitions}
        while not self._ended.is_set():
            try:
                with contextlib.closing(self._consumer(positions)) as consumer:
                    self._receive(consumer, positions)
            except KafkaError:  # no broker can be reached
                self._ended.wait(0.2)

    def _consumer(self, positions: dict[TopicPartition, int]) -> KafkaConsumer:
        """A client that continues at these positions. Raises KafkaError."""
        if not (brokers := self._bootstrap()):
            raise KafkaError("all brokers are paused")
        consumer = KafkaConsumer(
            bootstrap_servers=brokers.split(","),
            client_id="observer",
            group_id=None,
            enable_auto_commit=False,
            # A broker that led until it was paused may answer that the position is out of range, or that the log was
            # truncated: the position is right as soon as that broker knows its successor.
            auto_offset_reset="none",
            bootstrap_timeout_ms=5000,
            request_timeout_ms=5000,
            metadata_max_age_ms=3000,
        )
        consumer.assign(list(positions))
        for partition, offset in positions.items():
            consumer.seek(partition, offset)
        return consumer

    def _receive(self, consumer: KafkaConsumer, positions: dict[TopicPartition, int]) -> None:
        """Receives, and moves the positions, until the end or until nothing came for some time."""
        last = time.monotonic()
        while not self._ended.is_set() and time.monotonic() - last < _SILENT_SECONDS:
            try:
                found = consumer.poll(timeout_ms=200)
            except KafkaError:  # a broker went away or does not lead any more; the client continues with the others
                self._ended.wait(0.2)
                # It may have passed records that it has not returned, and would skip them.
                for partition, offset in positions.items():
                    if consumer.position(partition) != offset:
                        consumer.seek(partition, offset)
                continue
            for partition, messages in found.items():
                for message in messages:
                    self._polls.append(self._poll(message))
                    positions[partition] = message.offset + 1
            if found:
                last = time.monotonic()
            self._reached = {p.partition: consumer.position(p) for p in positions}  # behind markers, too

    def _poll(self, message: Any) -> Row:
        producer, seq, _ = content(message.value)
        epoch = getattr(message, "leader_epoch", None)
        return {
            "consumer": "observer",
            "number": len(self._polls),
            "topic": message.topic,
            "partition": message.partition,
            "offset": message.offset,
            "leader_epoch": -1 if epoch is None else epoch,
            "producer": producer,
            "seq": seq,
            "read_ns": time.time_ns(),
        }

    def _ask(self) -> None:
        while not self._ended.wait(0.3):
            for partition, found in self._answers():
                self._marks.append(
                    {
                        "observer": "observer",
                        "number": len(self._marks),
                        "t_ns": time.time_ns(),
                        "topic": self._topic,
                        "partition": partition,
                        "high_watermark": found.offset,
                        "leader_epoch": -1 if found.leader_epoch is None else found.leader_epoch,
                    }
                )

    def _answers(self) -> Iterator[tuple[int, Any]]:
        """The answers of the partitions' leaders; none for a partition without a leader, or while no broker can be
        reached.
        """
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        requested = {Place(self._topic, p): latest for p in self._partitions}
        try:
            # A new client each time, for an old one keeps asking a broker that is gone; its answers end with it.
            client = AdminClient({"bootstrap.servers": self._bootstrap(), "log_level": 0})
            answers = client.list_offsets(requested, request_timeout=_ASK_SECONDS)
        except KafkaException:
            return
        for place, answer in answers.items():
            with contextlib.suppress(KafkaException, TimeoutError):
                yield place.partition, answer.result(_ASK_SECONDS + 1)
