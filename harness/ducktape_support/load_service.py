"""The Java load client as a ducktape service: one producer and the results of its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from ducktape.services.service import Service

from harness.common.wait import Pending, wait_for
from harness.distribution.locate import Distribution
from harness.ducktape_support.rack_cluster import CLIENT, nodes_by_type
from harness.load.command import Produce, java_command, load_jar
from harness.load.process import LoadProcess
from harness.load.records import read_acks
from harness.run_folder.run_folder import RunFolder

# Clients live for seconds: a fast start is worth more than fast code.
JVM = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
Row = dict[str, Any]


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


class LoadService(Service):  # type: ignore[misc]  # ducktape has no types
    """One producer on a client host. It is steered while it runs; `stop` ends it and files its records."""

    logs = {"log": {"path": "load.log", "collect_default": True}}  # noqa: RUF012  # ducktape reads a class attribute

    def __init__(self, context: Any, distribution: Distribution, produce: Produce, run: RunFolder) -> None:
        super().__init__(context, cluster_spec=nodes_by_type([CLIENT]))
        self.run = run
        self._libs = distribution.home / "libs"
        self._account = self.nodes[0].account
        folder = Path(self.local_scratch_dir)
        self._account.bind(_at(self._account.host, folder), produce.producer)
        self.produce = replace(produce, out=folder / "acks.bin", control=True)
        self._process: LoadProcess | None = None
        self._acks: Acks | None = None

    def start_node(self, node: Any, **unused: Any) -> None:
        """Starts the client and waits until it has found its topic."""
        command = java_command(load_jar(), self._libs, self.produce.args(), jvm=JVM)
        self._process = LoadProcess(node.account.host.argv(command), Path(self.local_scratch_dir) / "load.log")
        line = self._process.wait_line("started", 60)
        self.run.event("note", "producer", "point", {**line, "cluster": self._libs.parent.name})

    def stop_node(self, node: Any, **unused: Any) -> None:
        """Ends a client that the test has not ended itself."""
        if self._process is not None and self._acks is None:
            self._process.kill()

    def clean_node(self, node: Any, **unused: Any) -> None:
        """Leaves nothing: the scratch folder goes with the service."""

    @property
    def process(self) -> LoadProcess:
        """The running client."""
        assert self._process is not None, "the service was not started"
        return self._process

    @property
    def last(self) -> Row:
        """The client's newest totals; {} before the first second is over."""
        lines = [line for line in self.process.lines if line.get("event") == "second"]
        return lines[-1] if lines else {}

    def wait_totals(self, label: str, wanted: Callable[[Row], bool | Pending], seconds: float = 30.0) -> Row:
        """Waits until the client's totals satisfy the test; returns them. Raises WaitTimeout."""

        def probe() -> Row | Pending:
            last = self.last
            return last if last and wanted(last) else Pending(str(last))

        return wait_for(label, probe, seconds, every=0.1)

    def records(self) -> Acks:
        """The records so far; the client may still run."""
        return Acks(_rows(read_acks(self.produce.out)))

    def finish(self, seconds: float = 60.0) -> Acks:
        """Waits for the client's own end (its duration), files its records, and returns them."""
        return self._file(lambda process: process.finish(seconds))

    def end(self, seconds: float = 60.0) -> Acks:
        """Lets the client stop now, files its records, and returns them."""
        return self._file(lambda process: process.stop(seconds))

    def _file(self, wait: Callable[[LoadProcess], Any]) -> Acks:
        with self.process as process:
            wait(process)
        table = read_acks(self.produce.out)
        self.run.add_acks(table, self.produce.producer)
        self._acks = Acks(_rows(table))
        return self._acks


def _rows(table: pa.Table) -> list[Row]:
    rows: list[Row] = table.to_pylist()
    return rows


def _at(host: Any, folder: Path) -> Any:
    return type(host)(host.name, host.address, str(folder))
