"""Command lines of the load client; running them is up to the caller (a local process, an account of a test node)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.common.errors import environment_error
from harness.common.paths import project_root

MAIN_CLASS = "io.rackspan.load.LoadMain"


def load_jar() -> Path:
    """The load client's jar. Raises RackspanError (exit code 4) if it was not built."""
    jar = project_root() / "build" / "load" / "rackspan-load.jar"
    if not jar.is_file():
        raise environment_error(
            "load client not found", observed=f"no {jar.name}", do="build it with `./rackspan build`"
        )
    return jar


def java_command(
    jar: Path, libs: Path, args: Sequence[str], *, java: str = "java", jvm: Sequence[str] = ("-Xmx256m",)
) -> list[str]:
    """The full command line. ``libs`` is the distribution's libs folder: its kafka-clients is the client that runs."""
    return [java, *jvm, "-cp", f"{jar}:{libs}/*", MAIN_CLASS, *args]


@dataclass(frozen=True)
class Produce:
    """One producer, an open loop. ``rate`` is records per second, ``duration`` seconds, ``size`` bytes of the value.

    ``acks`` is 0, 1, all or, with the patched client, min.insync.replicas (-2): the client library checks it.
    ``connections`` producers take the records in turn: a broker answers one request of a connection after the other.
    ``arrivals`` is fixed (evenly spaced) or poisson; ``seed`` draws the latter, anew for each stretch from a resume (or
    another rate) on, so that producers with one seed have the same gaps in the same stretch.
    ``unanswered_kib`` makes it a closed loop: each of them waits while this much of what it sent has no answer, and
    records that would have been due meanwhile are not sent.
    ``spread`` is round-robin, sticky (no key: the client's own choice), keyed (the key is the record's number, 8 bytes)
    or one partition number. Kafka settings that are None stay at the client's default. ``control`` lets the caller
    write pause, resume and stop lines to stdin. `histogram`: records are counted instead of kept, in windows that the
    caller names. `consume`: the process reads the topic as well, from the end that it had before the first record.
    `transaction_records`: records come in transactions of so many each, with the producer's name as transactional id;
    `abort_every`: every so many of them are aborted.
    """

    producer: str
    bootstrap: str
    topic: str
    out: Path
    rate: float = 100
    duration: float = 3600
    arrivals: str = "fixed"
    seed: int = 0
    size: int = 200
    acks: str = "all"
    connections: int = 1
    unanswered_kib: int | None = None
    spread: str = "round-robin"
    linger_ms: int = 0
    retries: int | None = None
    idempotence: bool | None = None
    delivery_timeout_ms: int | None = None
    request_timeout_ms: int | None = None
    ready_seconds: float = 30
    close_seconds: float = 10
    stop_file: Path | None = None
    control: bool = False
    start_paused: bool = False
    histogram: bool = False
    consume: bool = False
    transaction_records: int | None = None
    abort_every: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def consumed(self) -> Path:
        """The file for the records that the process itself reads."""
        return self.out.with_name(f"{self.out.name}.polls")

    def args(self) -> list[str]:
        """Arguments of the main class."""
        options: dict[str, object | None] = {
            "producer": self.producer,
            "bootstrap": self.bootstrap,
            "topic": self.topic,
            "out": self.out,
            "rate": self.rate,
            "duration": self.duration,
            "arrivals": self.arrivals,
            "seed": self.seed,
            "size": self.size,
            "acks": self.acks,
            "connections": self.connections,
            "unanswered-kib": self.unanswered_kib,
            "spread": self.spread,
            "linger-ms": self.linger_ms,
            "retries": self.retries,
            "idempotence": None if self.idempotence is None else str(self.idempotence).lower(),
            "delivery-timeout-ms": self.delivery_timeout_ms,
            "request-timeout-ms": self.request_timeout_ms,
            "ready-seconds": self.ready_seconds,
            "close-seconds": self.close_seconds,
            "stop-file": self.stop_file,
            "control": "stdin" if self.control else None,
            "start": "paused" if self.start_paused else None,
            "record": "histogram" if self.histogram else None,
            "consume": "yes" if self.consume else None,
            "transaction-records": self.transaction_records,
            "abort-every": self.abort_every,
        }
        return ["produce", *_flags(options), *_properties(self.properties)]


@dataclass(frozen=True)
class Read:
    """Reads a topic from its start to the end offsets found first; gives up after ``idle_seconds`` without progress."""

    bootstrap: str
    topic: str
    out: Path
    isolation: str = "read_uncommitted"
    idle_seconds: float = 30
    properties: Mapping[str, str] = field(default_factory=dict)

    def args(self) -> list[str]:
        """Arguments of the main class."""
        options: dict[str, object | None] = {
            "bootstrap": self.bootstrap,
            "topic": self.topic,
            "out": self.out,
            "isolation": self.isolation,
            "idle-seconds": self.idle_seconds,
        }
        return ["read", *_flags(options), *_properties(self.properties)]


@dataclass(frozen=True)
class Copy:
    """Copies one topic into another in transactions until it is stopped (line `stop` on stdin).

    ``job`` is the transactional id, the group that holds the offsets, and the author that the copies name.
    """

    job: str
    bootstrap: str
    source: str
    target: str
    acks: str = "all"
    properties: Mapping[str, str] = field(default_factory=dict)

    def args(self) -> list[str]:
        """Arguments of the main class."""
        options = {
            "job": self.job,
            "bootstrap": self.bootstrap,
            "from": self.source,
            "to": self.target,
            "acks": self.acks,
        }
        return ["copy", *_flags(options), *_properties(self.properties)]


def _flags(options: Mapping[str, object | None]) -> list[str]:
    return [text for name, value in options.items() if value is not None for text in (f"--{name}", str(value))]


def _properties(properties: Mapping[str, str]) -> list[str]:
    return [text for key, value in properties.items() for text in ("--property", f"{key}={value}")]
