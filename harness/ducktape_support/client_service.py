"""A producer with a third-party client library, as a ducktape service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from ducktape.services.service import Service

from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.ducktape_support.load_service import Acks, Row
from harness.ducktape_support.rack_cluster import CLIENT, nodes_by_type
from harness.load.process import LoadProcess
from harness.run_folder.run_folder import RunFolder, arrow_schema
from harness.third_party_clients.registry import Client


class ClientProducer(Service):  # type: ignore[misc]  # ducktape has no types
    """One producing client program (harness/third_party_clients/README.md).

    Options that are None are left to the program.
    """

    logs = {"log": {"path": "client.log", "collect_default": True}}  # noqa: RUF012  # ducktape reads a class attribute

    def __init__(
        self, context: Any, client: Client, name: str, bootstrap: str, topic: str, run: RunFolder, **options: object
    ) -> None:
        super().__init__(context, cluster_spec=nodes_by_type([CLIENT]))
        self.name = name
        self.run = run
        given = {"bootstrap": bootstrap, "topic": topic, "producer": name, **options}
        flags = [text for key, v in given.items() if v is not None for text in (f"--{key.replace('_', '-')}", str(v))]
        self._command = [*("produce" if word == "VERB" else word for word in client.command), *flags]
        self._folder = Path(self.local_scratch_dir)
        host = self.nodes[0].account.host
        self.nodes[0].account.bind(type(host)(name, host.address, str(self._folder)), name)
        self._process: LoadProcess | None = None

    def start_node(self, node: Any, **unused: Any) -> None:
        """Starts the program."""
        command = node.account.host.argv(self._command)
        self._process = LoadProcess(command, self._folder / "client.log", cwd=project_root())

    def stop_node(self, node: Any, **unused: Any) -> None:
        """Ends a program that is still waiting."""
        if self._process is not None:
            self._process.kill()

    def clean_node(self, node: Any, **unused: Any) -> None:
        """Leaves nothing: the scratch folder goes with the service."""

    @property
    def process(self) -> LoadProcess:
        """The program."""
        assert self._process is not None, "the service was not started"
        return self._process

    def records(self) -> Acks:
        """Answers until now."""
        lines: list[Row] = [line for line in list(self.process.lines) if line.get("event") == "record"]
        return Acks(sorted(lines, key=lambda r: int(r["seq"])))

    def finish(self, seconds: float = 90.0) -> Acks:
        """Waits for the program's own end, files its records, and returns them. Raises LoadClientError."""
        with self.process as process:
            process.finish(seconds)
        return self._file()

    def end(self, seconds: float = 90.0) -> Acks:
        """Lets the program send no more, waits until all is answered, files the records, and returns them."""
        with self.process as process:
            process.drain(seconds)
        return self._file()

    def _file(self) -> Acks:
        acks = self.records()
        if not acks.rows:
            raise RackspanError(
                f"the client {self.name} reported no record",
                observed=str(self.process.lines[-1:]),
                do="read client.log among the collected logs",
                code=Exit.FAILED,
            )
        self.run.add_acks(pa.Table.from_pylist(acks.rows, arrow_schema("acks")), self.name)
        return acks
