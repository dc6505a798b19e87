"""Lines that a client program prints, and the stop line on standard input."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from harness.recording.payload import content, value


def report(event: str, **fields: Any) -> None:
    """Prints one line; safe from any thread."""
    text = json.dumps({"event": event, **fields}) + "\n"
    with _lock:
        sys.stdout.write(text)
        sys.stdout.flush()


_lock = threading.Lock()


class Records:
    """The records of one producer: due times, and one report of each result."""

    def __init__(self, producer: str, topic: str, partitions: list[int], records: int, rate: float) -> None:
        self.count = records
        self._producer = producer
        self._topic = topic
        self._partitions = partitions
        self._gap_ns = int(1e9 / rate) if rate else 1
        self._begin_ns, self._begin_mono_ns = time.time_ns(), time.monotonic_ns()
        self._sent: dict[int, int] = {}
        self._answered: set[int] = set()

    def partition(self, seq: int) -> int:
        """The partition of a record: round robin."""
        return self._partitions[seq % len(self._partitions)]

    def wait_s(self, seq: int) -> float:
        """Seconds until a record is due; 0 if it is late."""
        return max(0.0, (self._begin_mono_ns + seq * self._gap_ns - time.monotonic_ns()) / 1e9)

    def sending(self, seq: int) -> bytes:
        """The value of a record that is sent now."""
        self._sent[seq] = time.time_ns()
        return value(self._producer, seq, self._begin_ns + seq * self._gap_ns)

    def acknowledged(self, seq: int, partition: int, offset: int) -> None:
        """Reports a record as acknowledged."""
        self._report_result(seq, partition, offset, "OK", "")

    def failed(self, seq: int, result: str, cause: str = "") -> None:
        """Reports a record that the library gave up."""
        self._report_result(seq, self.partition(seq), -1, result, cause)

    def raised(self, seq: int, error: BaseException) -> None:
        """Reports a record that the library gave up with an exception, whose class is the result that a user gets."""
        self.failed(seq, type(error).__name__, type(error.__cause__).__name__ if error.__cause__ else "")

    def summary(self) -> None:
        """Prints the last line, and before it a report of every record without an answer."""
        for seq in sorted(self._sent.keys() - self._answered):
            self.failed(seq, "")
        report("summary", producer=self._producer, records=len(self._sent))

    def _report_result(self, seq: int, partition: int, offset: int, result: str, cause: str) -> None:
        self._answered.add(seq)
        report(
            "record",
            producer=self._producer,
            seq=seq,
            topic=self._topic,
            partition=partition,
            offset=offset,
            due_ns=self._begin_ns + seq * self._gap_ns,
            sent_ns=self._sent[seq],
            done_ns=time.time_ns() if result else 0,
            due_mono_ns=self._begin_mono_ns + seq * self._gap_ns,
            result=result,
            cause=cause,
        )


def report_read(partition: int, offset: int, data: bytes | None) -> None:
    """Reports a record that was read."""
    producer, seq, _ = content(data)
    report("read", partition=partition, offset=offset, producer=producer, seq=seq)


def on_stop(act: Callable[[], object]) -> None:
    """Calls `act` from a thread of its own on a line `stop`, or at the end of standard input."""

    def listen() -> None:
        for line in sys.stdin:
            if line.strip() == "stop":
                break
        act()

    threading.Thread(target=listen, daemon=True).start()
