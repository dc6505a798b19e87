"""The consumer that follows a topic while faults come and go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer
from kafka.errors import KafkaError

from harness.admin.topics import Topics
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.wait import Pending, wait_for
from harness.recording import observer, payload
from harness.recording.observer import Observer
from harness.run_folder.run_folder import RunFolder, read_events

RECORDS = 30


def _offsets(run: RunFolder) -> list[int]:
    """Offsets of what the observer received, in order."""
    return [row for file in sorted((run.path / "polls").iterdir()) for row in pq.read_table(file)["offset"].to_pylist()]


def _failed(run: RunFolder) -> list[dict[str, Any]]:
    return [event["data"] for event in read_events(run.path) if event["name"] == "observer-failed"]


def test_records_that_an_error_kept_from_the_observer_are_read_again(
    shared: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Topics(shared.bootstrap).create("observed", [[1, 2, 3]])
    poll = KafkaConsumer.poll
    kept: list[Any] = []

    def failing(consumer: KafkaConsumer, **options: Any) -> Any:
        """As if the client could not send its next fetch: it has passed what it had read."""
        found = poll(consumer, **options)
        if found and len(kept) < 2:
            kept.append(found)
            raise KafkaError("not sent")
        return found

    monkeypatch.setattr(KafkaConsumer, "poll", failing)
    producer = Producer({"bootstrap.servers": shared.bootstrap})
    with (
        RunFolder.create(tmp_path, "observed") as run,
        Observer(run, "observed", 1, lambda: shared.bootstrap) as observed,
    ):
        for seq in range(RECORDS):
            producer.produce("observed", payload.value("p", seq, 1))
            producer.flush(30)
        wait_for("all records", lambda: observed.update >= RECORDS or Pending(f"{observed.update} read"), 60)
    assert kept and _offsets(run) == list(range(RECORDS))


def test_a_client_that_receives_nothing_is_replaced_and_the_end_is_waited_for(
    shared: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Topics(shared.bootstrap).create("silent", [[1, 2, 3]])
    poll = KafkaConsumer.poll
    used: list[KafkaConsumer] = []

    def silent(consumer: KafkaConsumer, **options: Any) -> Any:
        """The first client waits for a broker that is gone."""
        if consumer not in used:
            used.append(consumer)
        return {} if consumer is used[0] else poll(consumer, **options)

    monkeypatch.setattr(KafkaConsumer, "poll", silent)
    producer = Producer({"bootstrap.servers": shared.bootstrap})
    with RunFolder.create(tmp_path, "silent") as run, Observer(run, "silent", 1, lambda: shared.bootstrap):
        for seq in range(RECORDS):
            producer.produce("silent", payload.value("p", seq, 1))
        producer.flush(30)
    assert len(used) > 1 and _offsets(run) == list(range(RECORDS))


def test_an_error_that_ends_the_observer_is_noted(tmp_path: Path) -> None:
    def nowhere() -> str:
        raise LookupError("no broker is known")

    with RunFolder.create(tmp_path, "observed") as run, Observer(run, "observed", 1, nowhere):
        pass
    assert {"topic": "observed", "error": "LookupError: no broker is known"} in _failed(run)


def test_an_observer_that_never_reached_a_broker_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "_LATE_SECONDS", 1)
    with RunFolder.create(tmp_path, "observed") as run, Observer(run, "observed", 1, lambda: "127.0.0.1:1"):
        pass
    [failed] = _failed(run)
    assert failed["error"].startswith("WaitTimeout: gave up waiting for the observer of observed to catch up after")
