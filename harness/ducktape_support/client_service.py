"""A producer with a third-party client library, as a ducktape service."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.ducktape_support.load_service import Acks
from harness.ducktape_support.steered_service import Row, SteeredService
from harness.hosts.host import Host
from harness.load.client import LoadClient
from harness.load.process import LoadProcess
from harness.run_folder.run_folder import RunFolder, arrow_schema
from harness.third_party_clients.registry import Client


class ClientProducer(SteeredService):
    """One producing client program (harness/third_party_clients/README.md).

    Options that are None are left to the program.
    """

    logs = {"log": {"path": "client.log", "collect_default": True}}  # noqa: RUF012  # ducktape reads a class attribute

    def __init__(
        self, context: Any, client: Client, name: str, bootstrap: str, topic: str, run: RunFolder, **options: object
    ) -> None:
        super().__init__(context, name, run)
        self.name = name
        given = {"bootstrap": bootstrap, "topic": topic, "producer": name, **options}
        flags = [text for key, v in given.items() if v is not None for text in (f"--{key.replace('_', '-')}", str(v))]
        self._command = [*("produce" if word == "VERB" else word for word in client.command), *flags]

    def launch(self, host: Host) -> LoadClient:
        """Starts the program."""
        return LoadProcess(host.argv(self._command), self.log, cwd=project_root())

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
