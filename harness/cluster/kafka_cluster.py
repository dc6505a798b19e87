"""A Kafka cluster on hosts, as the rest of the harness handles it; the work is done by the modules beside this one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.backends.base import Backend
from harness.cluster import lifecycle, node_operations, waits
from harness.cluster.cluster_folders import alone, running_alone
from harness.cluster.cluster_view import View
from harness.cluster.members import Members, Targets
from harness.cluster.node import KafkaNode
from harness.cluster.node_operations import STOP_SECONDS
from harness.cluster.status import ClusterStatus
from harness.cluster.waits import READY_SECONDS
from harness.common.progress import Progress
from harness.distribution.locate import Distribution
from harness.network.link_controller import Links
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.cluster_state import State
from harness.spec.rackspan_level import formatted_level
from harness.spec.topology import Plan


class KafkaCluster:
    """A cluster that exists. Made by `up`, `open` or `running`."""

    def __init__(self, members: Members) -> None:
        self._members = members

    @classmethod
    def up(
        cls,
        spec: ClusterSpec,
        *,
        seconds: float = READY_SECONDS,
        progress: Progress | None = None,
        tied: bool = False,
    ) -> KafkaCluster:
        """Brings a new cluster up and waits until every node is ready; see `lifecycle.up`. Raises RackspanError."""
        return cls(lifecycle.up(spec, seconds, progress or Progress(), tied=tied))

    @classmethod
    def open(cls, name: str, progress: Progress | None = None) -> KafkaCluster:
        """The cluster of that name. Raises RackspanError (exit code 2) if there is none."""
        return cls(lifecycle.open_cluster(name, progress))

    @classmethod
    @contextlib.contextmanager
    def running(
        cls, spec: ClusterSpec, *, seconds: float = READY_SECONDS, progress: Progress | None = None
    ) -> Iterator[KafkaCluster]:
        """A cluster for the time of a `with` block; an older one of the same name is removed first, this one after it.

        Raises RackspanError, also while another process is in such a block of the same name.
        """
        with running_alone(spec.name):
            lifecycle.remove(spec.name)
            try:
                yield cls.up(spec, seconds=seconds, progress=progress, tied=True)
            finally:
                lifecycle.remove(spec.name)

    def down(self, *, keep_data: bool = False) -> None:
        """Ends the cluster. With `keep_data` nodes shut down cleanly and the folder stays for the next `up`."""
        lifecycle.down(self._members, keep_data=keep_data)

    # ---- what it is --------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._members.name

    @property
    def folder(self) -> Path:
        """Its state file, and the files of its nodes."""
        return self._members.folder

    @property
    def state(self) -> State:
        """Its state file as last read."""
        return self._members.state

    @property
    def plan(self) -> Plan:
        """Its nodes with their addresses, as the spec means them."""
        return self._members.plan

    @property
    def distribution(self) -> Distribution:
        """The distribution of nodes without one of their own."""
        return self._members.distribution

    @property
    def formatted_level(self) -> int:
        """The level of rackspan.version at which its storage was formatted."""
        return formatted_level(self.state.spec.features, self.distribution.patches)

    @property
    def backend(self) -> Backend:
        return self._members.backend

    @property
    def bootstrap(self) -> str:
        """Bootstrap servers, all brokers."""
        return self.plan.bootstrap

    @property
    def links(self) -> Links:
        """Delays and cuts between racks. Raises RackspanError (exit code 4) if the backend has none."""
        return self.backend.links(self.plan)

    @property
    def progress(self) -> Progress:
        """The reporter of its steps."""
        return self._members.progress

    @progress.setter
    def progress(self, progress: Progress) -> None:
        self._members.progress = progress

    # ---- nodes -------------------------------------------------------------------------------------------------------

    def node(self, name: str) -> KafkaNode:
        """The node of that name. Raises RackspanError."""
        return self._members.node(name)

    def select(self, targets: Targets) -> list[KafkaNode]:
        """The nodes that targets such as `a1`, `rack:a`, `leader:orders-0` or `controller` name now.

        Raises RackspanError.
        """
        return self._members.select(targets)

    def start(self, targets: Targets, *, seconds: float = READY_SECONDS, distribution: str | None = None) -> None:
        """Starts nodes that do not run and waits until they serve. Raises RackspanError.

        `distribution`: they run that one from now on, as in an upgrade; nodes that run already are refused then.
        """
        chosen = self.select(targets)
        with self._alone():
            if distribution is not None:
                chosen = node_operations.change_distribution(self._members, chosen, distribution)
            self._members.want(chosen, "running")
            if not self.backend.is_up():
                node_operations.make_network(self._members)
                self.backend.let_go()
            node_operations.start(self._members, chosen, seconds)
            if self.state.phase == "kept":
                self._members.enter_phase("up")

    def stop(self, targets: Targets, *, seconds: float = STOP_SECONDS) -> None:
        """Shuts nodes down cleanly: brokers first, since their shutdown needs the controllers.

        Raises WaitTimeout.
        """
        chosen = self.select(targets)
        with self._alone():
            node_operations.stop(self._members, chosen, seconds)

    def kill(self, targets: Targets) -> None:
        """Ends nodes at once, as a crash does (kill -9)."""
        chosen = self.select(targets)
        with self._alone():
            node_operations.kill(self._members, chosen)

    def pause(self, targets: Targets) -> None:
        """Pauses nodes; their connections stay open. Raises RackspanError if one does not run."""
        node_operations.pause(self.select(targets))

    def resume(self, targets: Targets) -> None:
        """Lets paused nodes continue. Raises RackspanError if one does not run."""
        node_operations.resume(self.select(targets))

    # ---- what is known, and waiting for it ---------------------------------------------------------------------------

    def alive_brokers(self) -> list[str]:
        """address:port of the brokers whose processes run and are not paused."""
        return self._members.alive_brokers()

    def view(self) -> View:
        """The cluster as its first answering broker sees it. Raises RackspanError."""
        return self._members.view()

    def status(self, brief: bool = False) -> ClusterStatus:
        """State of every node, from the processes and from what brokers answer; `brief`: within a second."""
        return self._members.status(brief)

    def node_states(self, names: Iterable[str]) -> dict[str, str]:
        """State of nodes from their processes, by name."""
        return self._members.node_states(names)

    def wait_ready(self, targets: Targets = "all", seconds: float = READY_SECONDS) -> None:
        """Waits until brokers are registered and unfenced and controllers follow their leader. Raises RackspanError."""
        waits.wait_ready(self._members, targets, seconds)

    def wait_in_sync(self, seconds: float = READY_SECONDS) -> None:
        """Waits until every partition has a leader and all its replicas in sync. Raises WaitTimeout."""
        waits.wait_in_sync(self._members, seconds)

    def wait_healthy(self, seconds: float = READY_SECONDS) -> None:
        """Waits until all nodes serve and all replicas are in sync. Raises WaitTimeout that names what is missing."""
        waits.wait_healthy(self._members, seconds)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keeps other commands off the cluster, once what they wrote is taken over."""
        with alone(self.name):
            self._members.reload()
            yield
