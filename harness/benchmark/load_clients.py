"""The load clients of one scenario: started, steered, and their records filed in the run folder also on failure."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.node import KafkaNode
from harness.common.errors import usage_error
from harness.load.client import LoadClient
from harness.load.command import Produce, Read, java_command, load_jar
from harness.load.process import LoadProcess
from harness.load.records import read_acks, read_histograms, read_polls, read_reads
from harness.load.resident import ResidentClient, resident_client
from harness.run_folder.run_folder import RunFolder

PRIORITY = -15


def priority() -> int:
    """Niceness for a client that measures: raised where this user may, else 0. The brokers share its CPUs."""
    return PRIORITY if os.geteuid() == 0 else 0


class LoadClients:
    """Producers of one run. Use `load_clients(run)`: leaving it stops them and files what they recorded."""

    def __init__(self, run: RunFolder, folder: Path, stack: ExitStack, resident: ResidentClient | None = None) -> None:
        self._run = run
        self._folder = folder
        self._stack = stack
        self._resident = resident
        self._running: dict[str, LoadClient] = {}
        self._requested: dict[str, Produce] = {}

    def start(
        self,
        produce: Produce,
        cluster: KafkaCluster,
        *,
        jvm: tuple[str, ...] = (),
        nice: int = 0,
        beside: KafkaNode | None = None,
    ) -> LoadClient:
        """Starts one producer on the cluster's own client libraries and waits until it has found its topic.

        `beside`: the node on whose host it runs, and from which it is as far from the other racks as that node.
        `jvm`, `nice` and `beside` are of a process of its own, not of a run of the resident client.
        Raises RackspanError (exit code 2) for a name that a producer of the run had before: it would write over what
        that one recorded.
        """
        if produce.producer in self._requested:
            raise usage_error(
                f"two producers of one run are named {produce.producer}",
                observed=f"the first writes to {self._requested[produce.producer].topic}, this one to {produce.topic}",
                do="give each a name of its own",
            )
        spec = replace(produce, out=self._folder / f"{produce.producer}.bin", control=True)
        log = self._run.logs / f"{produce.producer}.log"
        process = self._run_client(spec.args(), cluster, log, jvm=jvm, nice=nice, beside=beside)
        self._stack.enter_context(process)
        self._running[produce.producer] = process
        self._requested[produce.producer] = spec
        line = process.wait_line("started", 60)
        self._run.event("note", "producer", "point", {**line, "cluster": cluster.name})
        return process

    def _run_client(
        self,
        args: Sequence[str],
        cluster: KafkaCluster,
        log: Path,
        *,
        jvm: tuple[str, ...],
        nice: int = 0,
        beside: KafkaNode | None = None,
    ) -> LoadClient:
        """A run of the resident client, if there is one, else a process."""
        if self._resident is not None:
            return self._resident.run(args, log)
        command = java_command(load_jar(), cluster.distribution.home / "libs", args, jvm=jvm)
        return LoadProcess(command if beside is None else beside.host.argv(command), log, nice=nice)

    def stop(self) -> list[dict[str, Any]]:
        """Stops all producers; their last answers are waited for. Returns their summaries."""
        return [process.stop(60) for process in self._running.values()]

    def file(self) -> None:
        """Puts what the producers recorded into the run folder."""
        for name, requested in self._requested.items():
            if requested.out.exists() and requested.histogram:
                self._run.add_histograms(read_histograms(requested.out), name)
            elif requested.out.exists():
                self._run.add_acks(read_acks(requested.out), name)
            if requested.consumed.exists():
                self._run.add_polls(read_polls(requested.consumed, name), name)
            if requested.transaction_records:
                self._file_transactions(name)

    def _file_transactions(self, producer: str) -> None:
        lines = [line for line in self._running[producer].lines if line["event"] == "transaction"]
        rows = [{key: line[key] for key in ("topic", "producer", "first", "last", "outcome")} for line in lines]
        self._run.event("note", "transactions", "point", {"transactions": rows})

    def read_back(self, topic: str, cluster: KafkaCluster, isolation: str = "read_uncommitted") -> int:
        """Reads the topic to its end, files the rows with the note that makes them count, returns their number."""
        spec = Read(cluster.bootstrap, topic, self._folder / f"{topic}.reads", isolation)
        log = self._run.logs / f"read-{topic}.log"
        with self._run_client(spec.args(), cluster, log, jvm=("-Xmx256m",)) as reader:
            summary = reader.finish(90)
        self._run.add_reads(read_reads(spec.out), topic)
        reported = {key: summary[key] for key in ("topic", "end_offsets", "complete", "isolation")}
        self._run.event("note", "read-back", "point", reported)
        return int(summary["rows"])


@contextmanager
def resident_of(cluster: KafkaCluster) -> Iterator[ResidentClient]:
    """One process for all producers of a cluster: a start costs more processor time than their records."""
    with (
        tempfile.TemporaryDirectory(prefix="rackspan-load-client-") as folder,
        resident_client(Path(folder), cluster.distribution.home / "libs") as resident,
    ):
        yield resident


@contextmanager
def load_clients(run: RunFolder, resident: ResidentClient | None = None) -> Iterator[LoadClients]:
    """Load clients for the time of a `with` block; their records are filed whatever happens.

    With a resident client, which must be of the cluster's own client libraries, producers share its process.
    """
    with tempfile.TemporaryDirectory(prefix="rackspan-load-") as folder:
        made: LoadClients | None = None
        try:
            with ExitStack() as stack:
                made = LoadClients(run, Path(folder), stack, resident)
                yield made
        finally:
            if made is not None:
                made.file()
