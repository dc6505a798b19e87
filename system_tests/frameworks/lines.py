"""Numbered lines of text, as frameworks copy and count them: written, read and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

SECONDS = 30.0


class LineProducer:
    """An idempotent librdkafka producer with acks=all that repeats what is refused."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20}
        self._producer = Producer({**settings, "log_level": 0})

    def write(self, lines: Iterable[str]) -> None:
        """Hands lines to the producer, which sends them while it can."""
        for line in lines:
            self._producer.produce(self._topic, line.encode())
        self._producer.poll(0)

    def flush(self, seconds: float) -> None:
        """Waits until all lines are acknowledged. Raises AssertionError."""
        left = self._producer.flush(seconds)
        assert left == 0, f"{left} lines to {self._topic} are not acknowledged after {seconds} s"


class TopicLines:
    """The committed records of a topic, which may not exist yet; each call reads those that have come since."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._records: list[tuple[bytes | None, bytes]] = []
        settings = {"bootstrap.servers": bootstrap, "group.id": "lines", "enable.auto.commit": False}
        self._consumer = Consumer({**settings, "isolation.level": "read_committed", "log_level": 0})
        self._assigned = 0

    def records(self) -> Sequence[tuple[bytes | None, bytes]]:
        """Key and value of every record until now, in the order of each partition."""
        described = self._consumer.list_topics(self._topic, timeout=SECONDS).topics[self._topic]
        if described.error is not None:
            return self._records
        if len(described.partitions) > self._assigned:
            self._records.clear()
            self._assigned = len(described.partitions)
            self._consumer.assign([TopicPartition(self._topic, p, OFFSET_BEGINNING) for p in described.partitions])
        while (message := self._consumer.poll(0.5)) is not None:
            if message.error() is None:
                self._records.append((message.key(), message.value() or b""))
        return self._records

    def close(self) -> None:
        """Closes the connections."""
        self._consumer.close()


def differences(found: Iterable[str], wanted: Iterable[str]) -> str:
    """The lines that are missing, repeated or unknown; "" if each wanted line was found once."""
    counts, expected = Counter(found), set(wanted)
    parts = {
        "missing": sorted(expected - counts.keys()),
        "repeated": sorted(line for line, number in counts.items() if number > 1),
        "unknown": sorted(counts.keys() - expected),
    }
    return "; ".join(f"{len(lines)} {name}, first {lines[:3]}" for name, lines in parts.items() if lines)
