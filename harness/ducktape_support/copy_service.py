"""The transactional copy job of the Java load client as a ducktape service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ducktape.services.service import Service

from harness.common.wait import Pending, wait_for
from harness.distribution.locate import Distribution
from harness.ducktape_support.load_service import JVM, Row
from harness.ducktape_support.rack_cluster import CLIENT, nodes_by_type
from harness.load.command import Copy, java_command, load_jar
from harness.load.process import LoadProcess
from harness.run_folder.run_folder import RunFolder


class CopyService(Service):  # type: ignore[misc]  # ducktape has no types
    """Copies a topic while it runs; `finish` lets it copy what is there by then and end."""

    logs = {"log": {"path": "copy.log", "collect_default": True}}  # noqa: RUF012  # ducktape reads a class attribute

    def __init__(self, context: Any, distribution: Distribution, copy: Copy, run: RunFolder) -> None:
        super().__init__(context, cluster_spec=nodes_by_type([CLIENT]))
        self.copy = copy
        self.run = run
        self._libs = distribution.home / "libs"
        self._folder = Path(self.local_scratch_dir)
        host = self.nodes[0].account.host
        self.nodes[0].account.bind(type(host)(copy.job, host.address, str(self._folder)), copy.job)
        self._process: LoadProcess | None = None

    def start_node(self, node: Any, **unused: Any) -> None:
        """Starts the job and waits until its transactions are set up."""
        command = java_command(load_jar(), self._libs, self.copy.args(), jvm=JVM)
        self._process = LoadProcess(node.account.host.argv(command), self._folder / "copy.log")
        line = self._process.wait_line("started", 90)
        self.run.event("note", "copy", "point", {**line, "from": self.copy.source, "to": self.copy.target})

    def stop_node(self, node: Any, **unused: Any) -> None:
        """Ends a job that the test has not ended itself."""
        if self._process is not None:
            self._process.kill()

    def clean_node(self, node: Any, **unused: Any) -> None:
        """Leaves nothing: the scratch folder goes with the service."""

    def wait_totals(self, label: str, wanted: Callable[[Row], bool], seconds: float = 60.0) -> Row:
        """Waits until the job's newest totals satisfy the test; returns them. Raises WaitTimeout."""

        def probe() -> Row | Pending:
            last = [line for line in self.process.lines if line.get("event") == "second"][-1:]
            return last[0] if last and wanted(last[0]) else Pending(str(last))

        return wait_for(label, probe, seconds)

    def finish(self, seconds: float = 120.0) -> Row:
        """Lets the job end; returns its totals: copied, commits, aborts. Raises LoadClientError."""
        with self.process as process:
            return process.drain(seconds)

    @property
    def process(self) -> LoadProcess:
        """The running job."""
        assert self._process is not None, "the service was not started"
        return self._process
