"""Nodes of one cluster as its spec and its state file say, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from harness.backends import BACKENDS
from harness.backends.base import Backend
from harness.backends.local import MARKER
from harness.cluster import class_archive, refusals
from harness.cluster.cluster_view import View, settings, view
from harness.cluster.jvm_options import JvmOptions, agent_of
from harness.cluster.node import KafkaNode
from harness.cluster.status import ClusterStatus, NodeStatus, summarize
from harness.cluster.targets import fixed
from harness.common.errors import RackspanError
from harness.common.progress import Progress
from harness.distribution.locate import Distribution, find
from harness.hosts.host import ProcessState
from harness.spec import cluster_state
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.topology import Node, Plan, plan

T = TypeVar("T")
Targets = str | Iterable[str]


class Members:
    """Nodes of a cluster that exists (its folder holds a state file), and its state file."""

    def __init__(self, folder: Path, state: cluster_state.State, progress: Progress | None = None) -> None:
        self.folder = folder
        self.state = state
        self.progress = progress or Progress()
        self.plan: Plan = plan(state.spec, state.block)
        self.distribution = Distribution(Path(state.distribution))
        self.backend: Backend = BACKENDS[state.spec.backend].at(folder)
        self._nodes: dict[str, KafkaNode] | None = None
        self._jvms: dict[Path, JvmOptions] = {}

    @property
    def name(self) -> str:
        return self.state.spec.name

    def all(self) -> list[KafkaNode]:
        """Every node, as the plan orders them."""
        return list(self._by_name().values())

    def node(self, name: str) -> KafkaNode:
        """The node of that name. Raises RackspanError."""
        return self._by_name()[self.plan.node(name).name]

    def select(self, targets: Targets) -> list[KafkaNode]:
        """The nodes that targets such as `a1`, `rack:a`, `leader:orders-0` or `controller` name now.

        Raises RackspanError.
        """
        named = fixed([targets] if isinstance(targets, str) else targets, self.plan, self.view)
        return [self.node(n.name) for n in self.plan.select(named)]

    def each(self, chosen: Sequence[KafkaNode], act: Callable[[KafkaNode], T]) -> list[T]:
        """Does the same to all nodes at once; the first failure is raised when all are done."""
        with ThreadPoolExecutor(max_workers=max(1, len(chosen))) as pool:
            return [future.result() for future in [pool.submit(act, n) for n in chosen]]

    def distribution_of(self, node: Node) -> Distribution:
        """The distribution that a node runs, as it lies on this machine. Raises RackspanError."""
        override = self.state.spec.nodes.get(node.name)
        other = override.distribution if override else None
        return find(other) if other else self.distribution

    # ---- what is known -----------------------------------------------------------------------------------------------

    def alive_brokers(self) -> list[str]:
        """address:port of the brokers whose processes run and are not paused."""
        brokers = [n for n in self.all() if n.node.role == "broker"]
        return [n.node.endpoint for n in brokers if n.look()[1] is ProcessState.RUNNING]

    def view(self) -> View:
        """The cluster as its first answering broker sees it. Raises RackspanError."""
        self.backend.enter()
        return view(self.alive_brokers())

    def status(self, brief: bool = False) -> ClusterStatus:
        """State of every node, from the processes and from what brokers answer; `brief`: within a second."""
        self.reload()
        observed: View | None = None
        silence = ""
        alive = self.alive_brokers()
        if alive:
            try:
                self.backend.enter()
                observed = view(alive, 0.5, 0.5) if brief else view(alive, limit=4.0)
            except RackspanError as e:
                silence = f"{e.what}: {e.observed}"
        nodes = [self._node_status(n) for n in self.all()]
        faults = self.backend.faults(self.plan)
        refused = self._refused(alive, observed) if observed is not None and not brief else []
        return summarize(self.state, self.plan.bootstrap, nodes, observed, silence, str(self.folder), faults, refused)

    def _refused(self, alive: Sequence[str], observed: View) -> list[refusals.RefusedTopic]:
        """Asks for settings of topics only where a replica is not in sync: all others take writes."""
        behind = observed.under_replicated
        names = (refusals.MIN_RACKS, refusals.MIN_REPLICAS)
        found = settings(alive, sorted({p.topic for p in behind}), names)
        return refusals.refused(behind, {n.id: n.broker_rack for n in self.plan.brokers}, found)

    def node_states(self, names: Iterable[str]) -> dict[str, str]:
        """State of nodes from their processes, by name."""
        self.reload()
        return {name: self._node_status(self.node(name)).state for name in names}

    # ---- the state file ----------------------------------------------------------------------------------------------

    def want(self, chosen: Sequence[KafkaNode], wanted: cluster_state.Wanted) -> None:
        """Records whether nodes should run."""
        for n in chosen:
            self.state.nodes[n.name] = cluster_state.NodeRecord(wanted=wanted)
        self.save()

    def enter_phase(self, phase: cluster_state.Phase) -> None:
        """Records the phase that the cluster is in."""
        self.state.phase = phase
        self.save()

    def note_errors(self, chosen: Sequence[KafkaNode]) -> None:
        """Records the last error of nodes whose processes have ended."""
        for n in chosen:
            if n.look()[1] is ProcessState.GONE:
                self.state.nodes[n.name].error = n.last_error()
        self.save()

    def respec(self, spec: ClusterSpec) -> None:
        """Replaces the spec; nodes are made anew from it."""
        self.state.spec = spec
        self.plan = plan(spec, self.state.block)
        self._nodes = None

    def reload(self) -> None:
        """Takes over what other commands wrote since. Raises RackspanError if the cluster was removed."""
        now = cluster_state.load(self.folder)
        if now is None:
            raise RackspanError(
                f"cluster {self.name!r} is gone", observed="it was removed meanwhile", do="`rackspan ls`"
            )
        self.state.phase, self.state.nodes = now.phase, now.nodes
        if now.spec != self.state.spec:  # another command changed the distribution of a node
            self.respec(now.spec)

    def save(self) -> None:
        """Writes the state file."""
        self.state.save(self.folder)

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _by_name(self) -> dict[str, KafkaNode]:
        if self._nodes is None:
            self._nodes = {n.name: self._make(n) for n in self.plan.nodes}
        return self._nodes

    def _make(self, node: Node) -> KafkaNode:
        host = self.backend.host(node, str(self.folder / node.name))
        own = self.distribution_of(node)
        placed = self.backend.placed(node.name, own)
        return KafkaNode(host, self.plan, node, placed, lambda: self._jvm(own, placed), {MARKER: str(self.folder)})

    def _jvm(self, own: Distribution, placed: Distribution) -> JvmOptions:
        if placed.home not in self._jvms:
            spec = self.state.spec
            agent = agent_of(own, placed) if spec.metrics else None
            # the archive holds for a distribution where it was made
            archive = class_archive.archive_for(own, self.progress) if placed == own else None
            self._jvms[placed.home] = JvmOptions(spec.jvm, archive, agent)
        return self._jvms[placed.home]

    def _node_status(self, n: KafkaNode) -> NodeStatus:
        process, state = n.look()
        record = self.state.nodes.get(n.name, cluster_state.NodeRecord())
        error = record.error
        if state is ProcessState.GONE and record.wanted == "running" and not error:
            error = n.last_error()
        return NodeStatus.of(n.node, process, state, record.wanted, error)
