"""The transactional copy job of the Java load client as a ducktape service."""

from __future__ import annotations

from typing import Any

from harness.distribution.locate import Distribution
from harness.ducktape_support.session_load_client import start_client
from harness.ducktape_support.steered_service import Row, SteeredService
from harness.hosts.host import Host
from harness.load.client import LoadClient
from harness.load.command import Copy
from harness.run_folder.run_folder import RunFolder


class CopyService(SteeredService):
    """Copies a topic while it runs; `finish` lets it copy what is there by then and end."""

    logs = {"log": {"path": "copy.log", "collect_default": True}}  # noqa: RUF012  # ducktape reads a class attribute

    def __init__(self, context: Any, distribution: Distribution, copy: Copy, run: RunFolder) -> None:
        super().__init__(context, copy.job, run)
        self.distribution = distribution
        self.copy = copy

    def launch(self, host: Host) -> LoadClient:
        """Starts the job."""
        return start_client(self.context, self.distribution, self.copy.args(), self.log, host)

    def started(self, process: LoadClient) -> None:
        """Waits until the job's transactions are set up."""
        line = process.wait_line("started", 90)
        self.run.event("note", "copy", "point", {**line, "from": self.copy.source, "to": self.copy.target})

    def finish(self, seconds: float = 120.0) -> Row:
        """Lets the job end; returns its totals: copied, commits, aborts. Raises LoadClientError."""
        with self.process as process:
            return process.drain(seconds)
