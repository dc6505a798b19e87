"""The Java load client as a ducktape service: one producer and the results of its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from harness.distribution.locate import Distribution
from harness.ducktape_support.session_load_client import start_client
from harness.ducktape_support.steered_service import Row, SteeredService
from harness.hosts.host import Host
from harness.load.client import LoadClient
from harness.load.command import Produce
from harness.load.records import read_acks
from harness.run_folder.run_folder import RunFolder


class Acks:
    """The answers to a producer's records, in order of sequence."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """Number of records by (result, cause)."""
        return dict(Counter((r["result"], r["cause"]) for r in self.rows))

    @property
    def ok(self) -> list[Row]:
        """Acknowledged records."""
        return [r for r in self.rows if r["result"] == "OK"]

    def where(self, wanted: Callable[[Row], bool]) -> Acks:
        """Some of them."""
        return Acks([r for r in self.rows if wanted(r)])

    def due(self, begin_ns: int, end_ns: int | None = None) -> Acks:
        """Those due in a stretch of time (epoch ns)."""
        return self.where(lambda r: begin_ns <= r["due_ns"] and (end_ns is None or r["due_ns"] < end_ns))


class LoadService(SteeredService):
    """One producer on a client host. It is steered while it runs; `stop` ends it and files its records."""

    logs = {"log": {"path": "load.log", "collect_default": True}}  # noqa: RUF012  # ducktape reads a class attribute

    def __init__(self, context: Any, distribution: Distribution, produce: Produce, run: RunFolder) -> None:
        super().__init__(context, produce.producer, run)
        self.distribution = distribution
        self.produce = replace(produce, out=self.folder / "acks.bin", control=True)

    def launch(self, host: Host) -> LoadClient:
        """Starts the producer."""
        return start_client(self.context, self.distribution, self.produce.args(), self.log, host)

    def started(self, process: LoadClient) -> None:
        """Waits until the producer has found its topic."""
        line = process.wait_line("started", 60)
        self.run.event("note", "producer", "point", {**line, "cluster": self.distribution.home.name})

    def records(self) -> Acks:
        """The records so far; the client may still run."""
        return Acks(_rows(read_acks(self.produce.out)))

    def finish(self, seconds: float = 60.0) -> Acks:
        """Waits for the client's own end (its duration), files its records, and returns them."""
        return self._file(lambda process: process.finish(seconds))

    def end(self, seconds: float = 60.0) -> Acks:
        """Lets the client stop now, files its records, and returns them."""
        return self._file(lambda process: process.stop(seconds))

    def _file(self, wait: Callable[[LoadClient], Any]) -> Acks:
        with self.process as process:
            wait(process)
        table = read_acks(self.produce.out)
        self.run.add_acks(table, self.produce.producer)
        return Acks(_rows(table))


def _rows(table: pa.Table) -> list[Row]:
    rows: list[Row] = table.to_pylist()
    return rows
