"""Lines that a client program prints, and what it is reported on standard input."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from harness.recording.payload import content, value


def report(event: str, **fields: Any) -> None:
    """One line; safe from any thread."""
    text = json.dumps({"event": event, **fields}) + "\n"
    with _lock:
        sys.stdout.write(text)
        sys.stdout.flush()


_lock = threading.Lock()


class Records:
    """The records of one producer: when each is due, and what became of it, reported once."""

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
        """Where a record goes: round robin."""
        return self._partitions[seq % len(self._partitions)]

    def wait_s(self, seq: int) -> float:
        """Seconds until a record is due; 0 if it is late."""
        return max(0.0, (self._begin_mono_ns + seq * self._gap_ns - time.monotonic_ns()) / 1e9)

    def sending(self, seq: int) -> bytes:
        """The value of a record that is sent now."""
        self._sent[seq] = time.time_ns()
        return value(self._producer, seq, self._begin_ns + seq * self._gap_ns)

    def acknowledged(self, seq: int, partition: int, offset: int) -> None:
        """A record is in the log, as far as the library knows."""
        self._report_step(seq, partition, offset, "OK", "")

    def failed(self, seq: int, result: str, cause: str = "") -> None:
        """The library gave a record up."""
        self._report_step(seq, self.partition(seq), -1, result, cause)

    def raised(self, seq: int, error: BaseException) -> None:
        """The library gave a record up with an exception: it has a class for each answer, which is what a user sees."""
        self.failed(seq, type(error).__name__, type(error.__cause__).__name__ if error.__cause__ else "")

    def summary(self) -> None:
        """The last line; records that the library never answered are reported as such."""
        for seq in sorted(self._sent.keys() - self._answered):
            self.failed(seq, "")
        report("summary", producer=self._producer, records=len(self._sent))

    def _report_step(self, seq: int, partition: int, offset: int, result: str, cause: str) -> None:
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
    """A record that was read."""
    producer, seq, _ = content(data)
    report("read", partition=partition, offset=offset, producer=producer, seq=seq)


def on_stop(act: Callable[[], object]) -> None:
    """Calls `act` from a thread of its own when a line `stop` comes in, or whoever could send it is gone."""

    def listen() -> None:
        for line in sys.stdin:
            if line.strip() == "stop":
                break
        act()

    threading.Thread(target=listen, daemon=True).start()
