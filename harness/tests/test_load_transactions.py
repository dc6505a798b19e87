"""The load client's transactions against a real stock broker: their ends, and what is read of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.load.client import LoadClient
from harness.load.command import Produce, Read
from harness.load.records import read_acks, read_reads
from harness.load.resident import ResidentClient
from harness.tests.load_broker import MISSING, Broker, stock_broker
from harness.tests.load_clients import client, read_back

pytestmark = pytest.mark.skipif(MISSING, reason="needs build/load/rackspan-load.jar and the stock distribution")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, resident: ResidentClient) -> Iterator[Broker]:
    with stock_broker(tmp_path_factory.mktemp("broker"), resident) as running:
        yield running


def spec(broker: Broker, folder: Path, topic: str, **options: Any) -> Produce:
    made: dict[str, Any] = {"rate": 100, "control": True, "transaction_records": 10} | options
    return Produce("p1", broker.bootstrap, topic, folder / "sends.bin", **made)


def ends(running: LoadClient) -> list[tuple[int, int, str]]:
    lines = [line for line in running.lines if line["event"] == "transaction"]
    return [(line["first"], line["last"], line["outcome"]) for line in lines]


def committed(broker: Broker, folder: Path, topic: str) -> list[int]:
    """The sequences that a read_committed consumer reads."""
    options = Read(broker.bootstrap, topic, folder / "committed.bin", "read_committed")
    with client(broker, options, folder) as running:
        running.finish(60)
    return sorted(read_reads(options.out)["seq"].to_pylist())


def wait_ends(running: LoadClient, number: int) -> None:
    """Waits until so many transactions more have ended."""
    for _ in range(number):
        running.wait_line("transaction", 60, len(running.lines))


def test_each_record_is_in_one_transaction_and_those_of_aborted_ones_are_not_read(
    broker: Broker, tmp_path: Path
) -> None:
    topic = broker.topic("transactions", 2)
    with client(broker, spec(broker, tmp_path, topic, rate=200, duration=0.62, abort_every=3), tmp_path) as running:
        started = running.wait_line("started", 60)
        running.finish(60)
    assert started["transaction_records"] == 10 and started["idempotence"] is True
    found = ends(running)
    wanted = [(10 * n, min(10 * n + 9, 123), "ABORTED" if n % 3 == 2 else "COMMITTED") for n in range(13)]
    assert found == wanted
    assert set(read_acks(tmp_path / "sends.bin")["result"].to_pylist()) == {"OK"}
    assert committed(broker, tmp_path, topic) == [
        seq for first, last, outcome in wanted if outcome == "COMMITTED" for seq in range(first, last + 1)
    ]
    assert read_back(broker, tmp_path, topic)[0]["rows"] == 124, "aborted records are in the log"


def test_a_pause_ends_the_transaction_that_is_open(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("paused")
    with client(broker, spec(broker, tmp_path, topic, transaction_records=1_000_000), tmp_path) as running:
        running.wait_line("second", 60)
        paused = running.pause()
        assert ends(running) == [(0, paused["seq"] - 1, "COMMITTED")]
        assert committed(broker, tmp_path, topic) == list(range(paused["seq"]))
        running.drain(60)


def test_a_fenced_producer_continues_as_a_new_one_and_no_transaction_is_split(broker: Broker, tmp_path: Path) -> None:
    topic, other = broker.topic("fenced", 2), tmp_path / "other"
    other.mkdir()
    with client(broker, spec(broker, tmp_path, topic), tmp_path) as running:
        wait_ends(running, 3)
        with client(broker, spec(broker, other, broker.topic("fencing"), duration=0.3), other) as second:
            second.finish(60)
        broken = next(n for n, end in enumerate(ends(running)) if end[2] != "COMMITTED")
        wait_ends(running, 3)
        running.drain(60)
    found = ends(running)
    assert any(outcome == "COMMITTED" for *_, outcome in found[broken:]), found
    read = set(committed(broker, tmp_path, topic))
    for first, last, outcome in found:
        there = read & set(range(first, last + 1))
        assert len(there) == (last - first + 1 if outcome == "COMMITTED" else 0), (first, last, outcome)


def test_a_hanging_broker_delays_a_commit_and_does_not_change_its_outcome(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("hanging")
    with client(broker, spec(broker, tmp_path, topic), tmp_path) as running:
        wait_ends(running, 2)
        broker.pause()
        try:
            running.wait_line("second", 60, len(running.lines))
            running.wait_line("second", 60, len(running.lines))
        finally:
            broker.resume()
        wait_ends(running, 3)
        running.drain(60)
    assert {outcome for *_, outcome in ends(running)} == {"COMMITTED"}
    assert committed(broker, tmp_path, topic) == list(range(ends(running)[-1][1] + 1))
