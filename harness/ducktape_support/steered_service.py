"""The base of client services: one client on a client host, steered by lines, its status lines kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ducktape.services.service import Service

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.rack_cluster import CLIENT, nodes_by_type
from harness.hosts.host import Host
from harness.load.client import LoadClient
from harness.run_folder.run_folder import RunFolder

Row = dict[str, Any]


class SteeredService(Service):  # type: ignore[misc]  # ducktape has no types
    """One client; a class below names its log in `logs` and says how it is launched."""

    def __init__(self, context: Any, name: str, run: RunFolder) -> None:
        super().__init__(context, cluster_spec=nodes_by_type([CLIENT]))
        self.run = run
        self.folder = Path(self.local_scratch_dir)
        self.log = self.folder / self.logs["log"]["path"]
        account = self.nodes[0].account
        account.bind(type(account.host)(name, account.host.address, str(self.folder)), name)
        self._process: LoadClient | None = None

    @abstractmethod
    def launch(self, host: Host) -> LoadClient:
        """Starts the client."""

    def started(self, process: LoadClient) -> None:
        """Waits for what the client must have reached before a test continues; nothing by default."""

    def start_node(self, node: Any, **unused: Any) -> None:
        """Starts the client."""
        self._process = self.launch(node.account.host)
        self.started(self._process)

    def stop_node(self, node: Any, **unused: Any) -> None:
        """Ends a client that the test has not ended itself."""
        if self._process is not None:
            self._process.kill()

    def clean_node(self, node: Any, **unused: Any) -> None:
        """Leaves the folder, as ducktape calls this before a start too."""

    def clean(self, **unused: Any) -> None:
        """Removes the folder; ducktape itself does so only for tests that it runs once."""
        super().clean(**unused)
        self.close()

    @property
    def process(self) -> LoadClient:
        """The running client."""
        assert self._process is not None, "the service was not started"
        return self._process

    @property
    def last(self) -> Row:
        """The client's newest totals; {} before the first second is over."""
        lines = [line for line in self.process.lines if line.get("event") == "second"]
        return lines[-1] if lines else {}

    def wait_totals(self, label: str, wanted: Callable[[Row], bool | Pending], seconds: float = 60.0) -> Row:
        """Waits until the client's totals satisfy the test; returns them. Raises WaitTimeout."""

        def probe() -> Row | Pending:
            last = self.last
            return last if last and wanted(last) else Pending(str(last))

        return wait_for(label, probe, seconds)
