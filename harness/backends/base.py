"""A backend: supplies the host of each node, and says what it can do to hosts and to the network between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from signal import SIGKILL

from harness.common.errors import environment_error
from harness.common.wait import Pending, wait_for
from harness.distribution.locate import Distribution
from harness.hosts.host import Capability, Host, Process
from harness.network.link_controller import Links
from harness.spec.topology import Node, Plan


class Backend(ABC):
    """Supplies the host of each node and says what it can do to it."""

    name: str
    capabilities: frozenset[Capability]

    @abstractmethod
    def host(self, node: Node, root: str) -> Host:
        """The host that the node runs on; `root` is the node's folder there."""

    @abstractmethod
    def leftovers(self, marker: str) -> list[tuple[Host, Process]]:
        """Processes that carry the marker in their environment although no pid file need name them."""

    @classmethod
    @abstractmethod
    def at(cls, folder: Path) -> Backend:
        """The backend of the cluster in that folder."""

    def prepare(self) -> None:  # noqa: B027  # not every backend needs rights
        """Gets this process the rights that it will need. Raises RackspanError (exit code 4)."""

    def bring_up(self, plan: Plan) -> None:
        """Makes what the hosts need, if it is not there. Where the backend can, it ends with this process, however
        that ends, unless it is let go.
        """
        self.enter()

    def install(self, wanted: Mapping[str, Distribution]) -> None:  # noqa: B027  # some hosts share this machine's files
        """Brings each node's distribution to its host, where that is needed. Raises RackspanError."""

    def placed(self, node: str, distribution: Distribution) -> Distribution:
        """The distribution as it lies on the host of a node."""
        return distribution

    def is_up(self) -> bool:
        """True if what `bring_up` makes is there."""
        return True

    def faults(self, plan: Plan) -> list[str]:
        """Faults made in the network of the hosts, in words."""
        return []

    def let_go(self) -> None:  # noqa: B027  # not every backend can tie hosts to a process
        """Lets the hosts outlive this process from now on."""

    @abstractmethod
    def enter(self) -> None:
        """Lets this thread, and those that it starts later, reach the hosts' addresses. Raises RackspanError."""

    def take_down(self) -> None:  # noqa: B027  # not every backend makes something
        """Ends what `bring_up` made."""

    def links(self, plan: Plan) -> Links:
        """Delays and cuts between racks. Raises RackspanError (exit code 4) where there are none."""
        self.require(Capability.CUT)
        raise NotImplementedError

    def require(self, *wanted: Capability) -> None:
        """Raises RackspanError (exit code 4) if the backend lacks one of these."""
        lacking = [c.value for c in wanted if c not in self.capabilities]
        if lacking:
            raise environment_error(
                f"backend {self.name} cannot do this",
                observed=f"it lacks: {', '.join(lacking)}; it has: {', '.join(sorted(self.capabilities)) or 'none'}",
                do="bring the cluster up with the backend netns",
            )


def end_processes(marker: Path, backend: Backend) -> None:
    """Kills every process that carries the mark (a folder) and waits until all are gone. Raises WaitTimeout.

    It looks until two looks in a row find nothing: a process that is becoming another program has no environment then.
    """
    empty = 0

    def gone() -> bool | Pending:
        nonlocal empty
        left = backend.leftovers(str(marker))
        for host, process in left:
            host.signal(process, SIGKILL)
        empty = 0 if left else empty + 1
        return empty == 2 or Pending(
            f"processes {', '.join(str(p.pid) for _, p in left) or 'gone once, looked for again'}"
        )

    wait_for(f"the processes of {marker.name} to end", gone, 30, every=0.05, do="see why they do not end in `ps`")
