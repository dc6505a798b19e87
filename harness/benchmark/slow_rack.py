"""Load of the controller while a rack slows down under a thousand electable sets (design 3.7).

    python -m harness.benchmark.slow_rack [--partitions 1000] [--seconds 60] [--json FILE]

Three racks of one broker, 2 ms apart, at level 2 of rackspan.version; one topic, each third of it led by one broker, is
written with acks=min.insync.replicas. Then rack c is 80 ms away for a while. Prints for the time before, meanwhile and
after: records of the metadata log and changes of partitions a second, how long the controller takes to answer a request
that changes nothing (it waits in the queue of all others), acknowledgements, and the longest silence of one partition.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # exported without saying so

from harness.admin.topics import Topics
from harness.benchmark.printed_table import print_table
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common import markdown
from harness.common.process_tree import end_on_signals
from harness.common.wait import Pending, pause, wait_for
from harness.faults.network import delay
from harness.load.command import Produce, java_command, load_jar
from harness.load.process import LoadProcess
from harness.load.records import read_acks
from harness.recording.electable_sets import changes
from harness.recording.metadata_timeline import Record, records
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.rackspan_level import at_level

TOPIC, SLOW_RACK = "many", "c"
CHANGE = "PARTITION_CHANGE_RECORD"
NEAR, FAR = "2ms", "80ms"
A_SECOND = 0.2  # records of each partition
MOST_CHANGES = 5  # in a second, of the set of one partition: 250 ms apart at least, both ends included
QUIET_S, AFTER_S = 20.0, 20.0
CALM_US, CALM_LINES, CALM_S = 500_000, 5, 240.0  # p99 of so many seconds in a row; brokers are slow at first
PROBE_S = 0.1


@dataclass(frozen=True)
class Window:
    """A stretch of time in ns since the epoch."""

    name: str
    begin_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.begin_ns) / 1e9


@dataclass(frozen=True)
class Load:
    """One window: records of the metadata log a second, changes of partitions a second and the most in one second, of
    all partitions and of one; answers of the controller in ms (median and longest), acknowledgements a second, p99
    latency in ms of the records due in it, infinite with records that were not acknowledged; and the longest time
    without an acknowledgement of one partition, in s.
    """

    window: str
    records: float
    changes: float
    most_changes: int
    most_of_one: int
    answer_ms: float
    longest_answer_ms: float
    acked: float
    p99_ms: float
    silence_s: float


def load_of(
    window: Window,
    log: Sequence[Record],
    answers: Sequence[tuple[int, float]],
    acks: pa.Table,
    partitions: int,
) -> Load:
    """The load in one window.

    `log`: the records of the metadata log; `answers`: time and ms of each answer; `acks`: rows of the run folder.
    """
    begin, end = window.begin_ns, window.end_ns
    there = [record for record in log if begin <= record.t_ns < end]
    changes = [((one.t_ns - begin) // 1_000_000_000, one.data["partitionId"]) for one in there if one.kind == CHANGE]
    by_second, by_partition = Counter(second for second, _ in changes), Counter(changes)
    waited = [ms for at, ms in answers if begin <= at < end]
    done, due, where = (acks[name].to_numpy() for name in ("done_ns", "due_ns", "partition"))
    ok = np.array(acks["result"].to_pylist()) == "OK"
    mine = ok & (begin <= done) & (done < end)
    latency = np.where(ok, (done - due) / 1e6, np.inf)[(begin <= due) & (due < end)]
    return Load(
        window.name,
        len(there) / window.seconds,
        len(changes) / window.seconds,
        max(by_second.values(), default=0),
        max(by_partition.values(), default=0),
        float(np.median(waited)) if waited else float("nan"),
        max(waited, default=float("nan")),
        int(mine.sum()) / window.seconds,
        float(np.percentile(latency, 99, method="higher")) if len(latency) else float("nan"),
        _silence_s(done[mine], where[mine], window, partitions),
    )


def _silence_s(done: Any, where: Any, window: Window, partitions: int) -> float:
    """The longest time without an acknowledgement of one partition; the edges of the window count as ones."""
    every = np.arange(partitions)
    at = np.r_[done, np.full(partitions, window.begin_ns), np.full(partitions, window.end_ns)]
    of = np.r_[where, every, every]
    order = np.lexsort((at, of))
    gaps = np.diff(at[order])[np.diff(of[order]) == 0]
    return float(gaps.max()) / 1e9


def spec() -> ClusterSpec:
    """Three racks and a controller apart from them, on networks whose delays can be set."""
    return ClusterSpec.model_validate(
        {
            "name": "slow-rack",
            "backend": "netns",
            "racks": "q:0,a:1,b:1,c:1",
            "controllers": 1,
            "links": {"a-b": NEAR, "a-c": NEAR, "b-c": NEAR},
            "profile": "kafka-defaults",
            "metrics": False,
            "jvm": "full",
            "heap": {"broker": "1g", "controller": "512m"},
            # An index is mapped with all of its 10 MiB: thousands of them would fill the memory.
            **at_level(2),
            "settings": {"log.index.size.max.bytes": 65_536},
        }
    )


class _Probe:
    """Requests that change nothing, one after another, each answered by the controller in its turn."""

    def __init__(self, bootstrap: str) -> None:
        self.answers: list[tuple[int, float]] = []
        self._client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask, name="probe", daemon=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Asks for the time of a `with` block."""
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()

    def _ask(self) -> None:
        while not self._over.is_set():
            at, begin = time.time_ns(), time.monotonic()
            topic = NewTopic("probe", num_partitions=1, replication_factor=1)
            with contextlib.suppress(KafkaException):  # a refusal, or no answer in a minute, took its time as well
                self._client.create_topics([topic], validate_only=True, request_timeout=60)["probe"].result(70)
            self.answers.append((at, (time.monotonic() - begin) * 1000))
            self._over.wait(PROBE_S)


def with_sets(cluster: KafkaCluster) -> int:
    """The number of partitions that have an electable set."""
    last = {change.partition: change.members for change in changes(cluster)}
    return sum(1 for members in last.values() if members)


def measure(partitions: int, seconds: float) -> list[Load]:
    """The load before, while and after rack c is far. Raises RackspanError."""
    with tempfile.TemporaryDirectory(prefix="rackspan-slow-rack-") as name, ExitStack() as stack:
        folder = Path(name)
        cluster = stack.enter_context(KafkaCluster.running(spec()))
        cluster.backend.enter()
        topics, orders = Topics(cluster.bootstrap), ([1, 2, 3], [2, 3, 1], [3, 1, 2])
        topics.create(TOPIC, [orders[n % 3] for n in range(partitions)], min_insync_replicas=2, min_insync_racks=2)
        cluster.wait_in_sync()
        out = folder / "acks.bin"
        rate = A_SECOND * partitions
        produce = Produce(TOPIC, cluster.bootstrap, TOPIC, out, rate=rate, acks="min.insync.replicas", linger_ms=50)
        command = java_command(load_jar(), cluster.distribution.home / "libs", produce.args())
        client = stack.enter_context(LoadProcess(command, folder / "client.log"))
        client.wait_line("started", 60)

        def all_have_sets() -> bool | Pending:
            found = with_sets(cluster)
            return found == partitions or Pending(f"{found} of {partitions} have one")

        def calm() -> bool | Pending:
            last = [line["p99_us"] for line in client.lines if line["event"] == "second"][-CALM_LINES:]
            now = [us for us in last if us is not None and us <= CALM_US]
            return len(now) == CALM_LINES or Pending(f"p99 in us: {last}")

        wait_for("each partition to have an electable set", all_have_sets, 180, every=10)
        wait_for("answers to be as fast as they get", calm, CALM_S, every=1)
        probe = _Probe(cluster.bootstrap)
        times = []
        with probe.running():
            times.append(time.time_ns())
            pause(QUIET_S)
            times.append(time.time_ns())
            with delay(cluster, "a", SLOW_RACK, FAR), delay(cluster, "b", SLOW_RACK, FAR):
                pause(seconds)
                times.append(time.time_ns())
            pause(AFTER_S)
            times.append(time.time_ns())
        client.stop(60)
        names = ("before", f"rack {SLOW_RACK} {FAR} away", "after")
        windows = [Window(*of) for of in zip(names, times, times[1:], strict=False)]
        log, acks = records(cluster), read_acks(out)
        return [load_of(window, log, probe.answers, acks, partitions) for window in windows]


def summary(found: Sequence[Load], partitions: int) -> str:
    """A table of the windows, and whether each set was changed as seldom as it has to be."""
    head = ("time", "records/s", "changes/s", "most in a second", "of one partition", "answer, ms", "longest, ms")
    rows = []
    for one in found:
        counts = (one.records, one.changes, one.most_changes, one.most_of_one, one.answer_ms, one.longest_answer_ms)
        rows.append((one.window, *(f"{n:.0f}" for n in (*counts, one.acked, one.p99_ms)), f"{one.silence_s:.1f}"))
    more = ("acks/s", "p99, ms", "longest silence, s")
    table = markdown.table((*head, *more), rows, right=tuple(range(1, 10)))
    most = max(one.most_of_one for one in found)
    kept = "not shown, no set was changed" if not most else "kept" if most <= MOST_CHANGES else "exceeded"
    bound = f"each may be changed {MOST_CHANGES} times a second, {most} was the most: {kept}"
    return f"{table}\n\n{partitions} partitions; {bound}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; exit codes as those of the command."""
    end_on_signals()
    parser = argparse.ArgumentParser(prog="python -m harness.benchmark.slow_rack", description=__doc__)
    parser.add_argument("--partitions", type=int, default=1000, metavar="COUNT")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="SECONDS", help="time for which rack c is far")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write each window there")
    options = parser.parse_args(arguments)
    partitions = max(3, options.partitions)

    def measured() -> tuple[list[dict[str, Any]], str]:
        found = measure(partitions, max(1.0, options.seconds))
        return [asdict(one) for one in found], summary(found, partitions)

    return print_table(measured, options.json)


if __name__ == "__main__":
    sys.exit(main())
