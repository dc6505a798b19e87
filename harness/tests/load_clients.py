"""Load clients of the tests, each run in a folder of its own, on the stock client library."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from harness.common.jvm_flags import QUICK
from harness.common.wait import wait_for
from harness.load.client import LoadClient
from harness.load.command import Copy, Produce, Read, java_command
from harness.load.process import LoadProcess
from harness.load.records import read_acks, read_reads
from harness.load.resident import ServedRun
from harness.tests.limits import STUCK
from harness.tests.load_broker import JAR, LIBS, Broker

JVM = ("-Xmx256m", *QUICK)


def process(options: Copy | Produce | Read, folder: Path) -> LoadProcess:
    """A process of its own, for what a test does to processes."""
    return LoadProcess(java_command(JAR, LIBS, options.args(), jvm=JVM), folder / "client.log")


def client(broker: Broker, options: Copy | Produce | Read, folder: Path) -> ServedRun:
    """A run of the client that serves the tests of this broker."""
    return broker.clients.run(options.args(), folder / "client.log")


def produce(broker: Broker, folder: Path, topic: str, **options: object) -> tuple[dict[str, object], pa.Table]:
    spec = Produce("p1", broker.bootstrap, topic, folder / "sends.bin", **options)  # type: ignore[arg-type]
    with client(broker, spec, folder) as running:
        summary = running.finish(60)
    return summary, read_acks(spec.out)


def column(table: pa.Table, name: str) -> np.ndarray:
    return np.asarray(table[name].to_numpy())


def hang(broker: Broker, running: LoadClient, lines: int) -> None:
    """The broker answers nobody until the client has written so many lines, and then the next one of a second."""
    broker.pause()
    try:
        running.wait_line("second", 10, len(running.lines) + lines)
    finally:
        broker.resume()


def read_back(broker: Broker, folder: Path, topic: str) -> tuple[dict[str, object], pa.Table]:
    spec = Read(broker.bootstrap, topic, folder / "reads.bin")
    with client(broker, spec, folder) as running:
        summary = running.finish(60)
    return summary, read_reads(spec.out)


def answered(running: LoadClient) -> None:
    """Waits until all that the client has sent so far is answered, by whatever."""
    sent = running.wait_line("second", 60, len(running.lines))["sent"]

    def all_of_it() -> bool:
        last = [line for line in running.lines if line["event"] == "second"][-1]
        return bool(last["acked"] + sum(last["errors"].values()) >= sent)

    wait_for("the answers", all_of_it, STUCK)


def passes(running: LoadClient, seconds: float) -> None:
    """Waits until so much of the client's time has passed, however late its lines come."""
    from_ns = time.monotonic_ns()

    def later() -> bool:
        return any(line.get("mono_ns", 0) >= from_ns + seconds * 1e9 for line in running.lines)

    wait_for("the client's clock", later, STUCK)
