"""A Kafka cluster on hosts: brought up, nodes stopped and started, taken down, with its state kept in a folder."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from harness.backends import BACKENDS
from harness.backends.base import Backend, end_processes
from harness.backends.local import MARKER, LocalBackend
from harness.cluster import class_archive, security, storage
from harness.cluster.cluster_view import View, view
from harness.cluster.jvm_options import JvmOptions, agent_of
from harness.cluster.node import KafkaNode, count_of, names_of, wait_gone
from harness.cluster.readiness import NodeFailed, ready
from harness.cluster.status import ClusterStatus, NodeStatus, summarize
from harness.cluster.targets import fixed
from harness.common.errors import RackspanError, usage_error
from harness.common.paths import BLOCKS, claim_block, clusters_folder, locked, release_block
from harness.common.progress import Progress
from harness.common.wait import Pending, wait_for
from harness.distribution.locate import Distribution, find
from harness.hosts.host import Capability, ProcessState
from harness.network.link_controller import Links
from harness.spec import cluster_state as states
from harness.spec.cluster_spec import NAME, ClusterSpec, NodeOverride
from harness.spec.topology import Node, Plan, plan

T = TypeVar("T")
Targets = str | Iterable[str]

READY_SECONDS = 120.0
STOP_SECONDS = 40.0


class KafkaCluster:
    """A cluster that exists (its folder holds a state file). Made by `up` or `open`."""

    def __init__(self, folder: Path, state: states.State, progress: Progress | None = None) -> None:
        self.folder = folder
        self.state = state
        self.progress = progress or Progress()
        self.plan: Plan = plan(state.spec, state.block)
        self.distribution = Distribution(Path(state.distribution))
        self.backend: Backend = BACKENDS[state.spec.backend].at(folder)
        self._nodes: dict[str, KafkaNode] | None = None
        self._jvms: dict[Path, JvmOptions] = {}

    # ---- making, finding, ending -------------------------------------------------------------------------------------

    @classmethod
    def up(
        cls,
        spec: ClusterSpec,
        *,
        seconds: float = READY_SECONDS,
        progress: Progress | None = None,
        tied: bool = False,
    ) -> KafkaCluster:
        """Brings a new cluster up and waits until every node is ready.

        `tied`: where the backend can, the cluster ends with this process, however that ends.

        What an interrupted run left under the same name is ended first; kept data is used again. A node that fails
        stays
        as it is, with its error; Ctrl-C ends everything. Raises RackspanError, also if the cluster is up already.
        """
        progress = progress or Progress()
        folder = clusters_folder() / spec.name
        BACKENDS[spec.backend].at(folder).prepare()
        with cls._alone(spec.name):
            old = states.load(folder)
            if old is not None and old.phase in ("up", "failed"):
                raise AlreadyUp(spec.name)
            if old is not None and old.phase == "kept":
                return cls._again(folder, old, spec, seconds, progress, tied)
            if old is not None or folder.exists():
                with progress.step("leftovers of an interrupted run ended"):
                    cls._erase(folder, old)
            distribution = find(spec.distribution)
            for override in spec.nodes.values():
                find(override.distribution or spec.distribution)
            folder.mkdir(parents=True)
            block = _claim(folder, spec)
            state = states.State(
                spec=spec, distribution=str(distribution.home), block=block, cluster_id=storage.random_id()
            )
            state.nodes = {node.name: states.NodeRecord() for node in plan(spec, block).nodes}
            state.save(folder)
            cluster = cls(folder, state, progress)
            with cluster._erased_if_interrupted():
                cluster._begin(seconds)
            if not tied:
                cluster.backend.let_go()
            return cluster

    @classmethod
    def open(cls, name: str, progress: Progress | None = None) -> KafkaCluster:
        """The cluster of that name. Raises RackspanError (exit code 2) if there is none."""
        state = states.load(clusters_folder() / name) if re.fullmatch(NAME, name) else None
        if state is None:
            raise usage_error(
                f"cluster {name!r} not found",
                observed=f"clusters: {', '.join(names()) or 'none'}",
                do=f"start it with `rackspan up --name {name}`, or name another one",
            )
        return cls(clusters_folder() / name, state, progress)

    @classmethod
    @contextlib.contextmanager
    def running(
        cls, spec: ClusterSpec, *, seconds: float = READY_SECONDS, progress: Progress | None = None
    ) -> Iterator[KafkaCluster]:
        """A cluster for the time of a `with` block; an older one of the same name is removed first, this one after it.

        Raises RackspanError, also while another process is in such a block of the same name.
        """
        life = _locks() / f"{spec.name}.run"
        with locked(life, busy=f"cluster {spec.name!r} belongs to a run that continues"):
            remove(spec.name)
            try:
                yield cls.up(spec, seconds=seconds, progress=progress, tied=True)
            finally:
                remove(spec.name)

    def down(self, *, keep_data: bool = False) -> None:
        """Ends the cluster. With `keep_data` nodes shut down cleanly and the folder stays for the next `up`."""
        if not keep_data:
            with self._alone(self.name):
                self._erase(self.folder, self.state)
            return
        with self._alone(self.name):
            self._reload()
            self._stop(self.select("all"), STOP_SECONDS)
            self.backend.take_down()
            self.state.phase = "kept"
            self._save()

    # ---- nodes -------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.state.spec.name

    @property
    def bootstrap(self) -> str:
        """Bootstrap servers, all brokers."""
        return self.plan.bootstrap

    def node(self, name: str) -> KafkaNode:
        """The node of that name. Raises RackspanError."""
        return self._by_name()[self.plan.node(name).name]

    def select(self, targets: Targets) -> list[KafkaNode]:
        """The nodes that targets such as `a1`, `rack:a`, `leader:orders-0` or `controller` name now.

        Raises RackspanError.
        """
        named = fixed([targets] if isinstance(targets, str) else targets, self.plan, self.view)
        return [self.node(n.name) for n in self.plan.select(named)]

    def start(self, targets: Targets, *, seconds: float = READY_SECONDS, distribution: str | None = None) -> None:
        """Starts nodes that do not run and waits until they serve. Raises RackspanError.

        `distribution`: they run that one from now on, as in an upgrade; nodes that run already are refused then.
        """
        chosen = self.select(targets)
        with self._alone(self.name):
            self._reload()
            if distribution is not None:
                chosen = self._change(chosen, distribution)
            self._want(chosen, "running")
            if not self.backend.is_up():
                self._make_network()
                self.backend.let_go()
            self._start(chosen, seconds)
            if self.state.phase == "kept":
                self.state.phase = "up"
                self._save()

    def stop(self, targets: Targets, *, seconds: float = STOP_SECONDS) -> None:
        """Stops nodes in an orderly way: brokers first, since their shutdown needs the controllers.

        Raises WaitTimeout.
        """
        chosen = self.select(targets)
        with self._alone(self.name):
            self._reload()
            self._stop(chosen, seconds)

    def kill(self, targets: Targets) -> None:
        """Ends nodes at once, as a crash does (kill -9)."""
        chosen = self.select(targets)
        with self._alone(self.name):
            self._reload()
            self._want(chosen, "stopped")
            with self.progress.step(f"{names_of(chosen)} killed"):
                for n in chosen:  # all signals first: a rack dies at one moment
                    n.signal(signal.SIGKILL)
                wait_gone(chosen, STOP_SECONDS, do="see whether they hang in the kernel: state D in `ps`")

    def pause(self, targets: Targets) -> None:
        """Freezes nodes; their connections stay open. Raises RackspanError if one does not run."""
        chosen = self.select(targets)
        for n in chosen:  # all signals first: a rack hangs at one moment
            n.signal(signal.SIGSTOP)
        for n in chosen:
            n.pause()

    def resume(self, targets: Targets) -> None:
        """Lets paused nodes continue. Raises RackspanError if one does not run."""
        for n in self.select(targets):
            n.resume()

    # ---- what is -----------------------------------------------------------------------------------------------------

    @property
    def links(self) -> Links:
        """Delays and cuts between racks. Raises RackspanError (exit code 4) if the backend has none."""
        return self.backend.links(self.plan)

    def alive_brokers(self) -> list[str]:
        """address:port of the brokers whose processes run and are not paused."""
        brokers = [n for n in self._by_name().values() if n.node.role == "broker"]
        return [n.node.endpoint for n in brokers if n.look()[1] is ProcessState.RUNNING]

    def view(self) -> View:
        """The cluster as its first answering broker sees it. Raises RackspanError."""
        self.backend.enter()
        return view(self.alive_brokers())

    def status(self) -> ClusterStatus:
        """State of every node, from the processes and from what the cluster says of itself."""
        self._reload()
        observed: View | None = None
        silence = ""
        alive = self.alive_brokers()
        if alive:
            try:
                self.backend.enter()
                observed = view(alive)
            except RackspanError as e:
                silence = f"{e.what}: {e.observed}"
        nodes = [self._node_status(n) for n in self._by_name().values()]
        return summarize(
            self.state, self.bootstrap, nodes, observed, silence, str(self.folder), self.backend.faults(self.plan)
        )

    def node_states(self, names: Iterable[str]) -> dict[str, str]:
        """State of nodes as their processes report, by name."""
        self._reload()
        return {name: self._node_status(self.node(name)).state for name in names}

    def wait_ready(self, targets: Targets = "all", seconds: float = READY_SECONDS) -> None:
        """Waits until brokers are registered and unfenced and controllers follow their leader. Raises RackspanError."""
        chosen = self.select(targets)
        self.backend.enter()
        with self.progress.step(f"{count_of(chosen)} ready") as update:
            try:
                wait_for(
                    f"{names_of(chosen)} to be ready",
                    lambda: ready(chosen, self.view),
                    seconds,
                    every=0.15,
                    at_once=NodeFailed,
                    update=update,
                )
            except RackspanError:
                self._note_errors(chosen)
                raise

    def wait_in_sync(self, seconds: float = READY_SECONDS) -> None:
        """Waits until every partition has a leader and all its replicas in sync. Raises WaitTimeout."""

        def in_sync() -> bool | Pending:
            now = self.view()
            late = now.under_replicated
            return Pending(f"{len(late)} partitions under-replicated, first {late[0]}") if late else not now.leaderless

        with self.progress.step("all replicas in sync") as update:
            wait_for("all replicas in sync", in_sync, seconds, update=update)

    def wait_healthy(self, seconds: float = READY_SECONDS) -> None:
        """Waits until all nodes serve and all replicas are in sync. Raises WaitTimeout that says what is not so."""

        def healthy() -> bool | Pending:
            now = self.status()
            return now.health == "healthy" or Pending("; ".join(now.reasons))

        with self.progress.step("cluster healthy") as update:
            wait_for(f"cluster {self.name} to be healthy", healthy, seconds, update=update)

    # ---- inside ------------------------------------------------------------------------------------------------------

    @classmethod
    def _again(
        cls, folder: Path, old: states.State, spec: ClusterSpec, seconds: float, progress: Progress, tied: bool
    ) -> KafkaCluster:
        if old.spec != spec:
            raise usage_error(
                f"cluster {spec.name!r} was kept with another spec",
                observed="data of the kept one is still there",
                do=f"start it as it was with `rackspan start all`, or remove it with `rackspan down {spec.name}`",
            )
        cluster = cls(folder, old, progress)
        chosen = list(cluster._by_name().values())
        cluster._want(chosen, "running")
        cluster._make_network()
        cluster._start(chosen, seconds)
        if not tied:
            cluster.backend.let_go()
        old.phase = "up"
        cluster._save()
        return cluster

    def _make_network(self) -> None:
        """What the hosts need, and the delays between racks as requested, which every run depends on."""
        if Capability.DELAY not in self.backend.capabilities:
            self.backend.bring_up(self.plan)
            self._install()
            return
        with self.progress.step(f"network of {len(self.plan.nodes)} hosts made") as update:
            self.backend.bring_up(self.plan)
            for link in self.links.check():
                update(str(link))

    def _install(self) -> None:
        wanted = {n.name: self._own(n) for n in self.plan.nodes}
        if any(self.backend.placed(name, own) != own for name, own in wanted.items()):
            with self.progress.step("distribution on the hosts"):
                self.backend.install(wanted)

    def _begin(self, seconds: float) -> None:
        nodes = list(self._by_name().values())
        _know_jvm(nodes)  # before storage is formatted
        self._make_network()
        with self.progress.step(f"storage of {count_of(nodes)} formatted"):
            self._each(nodes, KafkaNode.write_config)
            security.provide(self.folder, self.plan, nodes)
            storage.format_cluster(nodes, self.state.cluster_id, self.state.spec.features)
        self._want(nodes, "running")
        try:
            self._start(nodes, seconds)
        except RackspanError:
            self.state.phase = "failed"
            self._save()
            raise
        self.state.phase = "up"
        self._save()

    def _start(self, chosen: Sequence[KafkaNode], seconds: float) -> None:
        _know_jvm(chosen)
        with self.progress.step(f"{count_of(chosen)} started"):
            self._each(chosen, KafkaNode.start)
        self.wait_ready([n.name for n in chosen], seconds)

    def _change(self, chosen: Sequence[KafkaNode], distribution: str) -> list[KafkaNode]:
        """Notes the distribution of nodes, and returns them as they are with it."""
        find(distribution)
        running = [n for n in chosen if n.look()[1] is not ProcessState.GONE]
        if running:
            raise usage_error(
                f"cannot change the distribution of {names_of(running)}",
                observed="the process is there",
                do=f"stop it first: `rackspan stop {' '.join(n.name for n in running)}`",
            )
        spec = self.state.spec
        overrides = dict(spec.nodes)
        for n in chosen:
            old = overrides.get(n.name, NodeOverride())  # type: ignore[call-arg]
            overrides[n.name] = old.model_copy(update={"distribution": distribution})
        self._respec(spec.model_copy(update={"nodes": overrides}))
        self._save()
        self._install()
        return [self.node(n.name) for n in chosen]

    def _stop(self, chosen: Sequence[KafkaNode], seconds: float) -> None:
        self._want(chosen, "stopped")
        for role in ("broker", "controller"):
            some = [n for n in chosen if n.node.role == role]
            if some:
                with self.progress.step(f"{names_of(some)} stopped"):
                    for n in some:
                        n.terminate()
                    wait_gone(some, seconds, do="`rackspan kill` ends them at once")

    def _by_name(self) -> dict[str, KafkaNode]:
        if self._nodes is None:
            self._nodes = {n.name: self._make(n) for n in self.plan.nodes}
        return self._nodes

    def _jvm(self, own: Distribution, placed: Distribution) -> JvmOptions:
        if placed.home not in self._jvms:
            spec = self.state.spec
            agent = agent_of(own, placed) if spec.metrics else None
            # the archive holds for a distribution where it was made
            archive = class_archive.archive_for(own, self.progress) if placed == own else None
            self._jvms[placed.home] = JvmOptions(spec.jvm, archive, agent)
        return self._jvms[placed.home]

    def _own(self, node: Node) -> Distribution:
        override = self.state.spec.nodes.get(node.name)
        other = override.distribution if override else None
        return find(other) if other else self.distribution

    def _make(self, node: Node) -> KafkaNode:
        host = self.backend.host(node, str(self.folder / node.name))
        own = self._own(node)
        placed = self.backend.placed(node.name, own)
        return KafkaNode(host, self.plan, node, placed, lambda: self._jvm(own, placed), {MARKER: str(self.folder)})

    def _node_status(self, n: KafkaNode) -> NodeStatus:
        process, state = n.look()
        record = self.state.nodes.get(n.name, states.NodeRecord())
        error = record.error
        if state is ProcessState.GONE and record.wanted == "running" and not error:
            error = n.last_error()
        return NodeStatus.of(n.node, process, state, record.wanted, error)

    def _note_errors(self, chosen: Sequence[KafkaNode]) -> None:
        for n in chosen:
            if n.look()[1] is ProcessState.GONE:
                self.state.nodes[n.name].error = n.last_error()
        self._save()

    def _want(self, chosen: Sequence[KafkaNode], wanted: states.Wanted) -> None:
        for n in chosen:
            self.state.nodes[n.name] = states.NodeRecord(wanted=wanted)
        self._save()

    def _reload(self) -> None:
        """Takes over what other commands wrote since. Raises RackspanError if the cluster was removed."""
        now = states.load(self.folder)
        if now is None:
            raise RackspanError(
                f"cluster {self.name!r} is gone", observed="it was removed meanwhile", do="`rackspan ls`"
            )
        self.state.phase, self.state.nodes = now.phase, now.nodes
        if now.spec != self.state.spec:  # another command changed the distribution of a node
            self._respec(now.spec)

    def _respec(self, spec: ClusterSpec) -> None:
        self.state.spec = spec
        self.plan = plan(spec, self.state.block)
        self._nodes = None

    def _save(self) -> None:
        self.state.save(self.folder)

    def _each(self, chosen: Sequence[KafkaNode], act: Callable[[KafkaNode], T]) -> list[T]:
        """Does the same to all nodes at once; the first failure is raised when all are done."""
        with ThreadPoolExecutor(max_workers=max(1, len(chosen))) as pool:
            return [future.result() for future in [pool.submit(act, n) for n in chosen]]

    @staticmethod
    def _alone(name: str) -> contextlib.AbstractContextManager[None]:
        return locked(_locks() / name, busy=f"cluster {name!r} is busy")

    @contextlib.contextmanager
    def _erased_if_interrupted(self) -> Iterator[None]:
        try:
            yield
        except BaseException as e:
            if not isinstance(e, RackspanError):
                self._erase(self.folder, self.state)
            raise

    @classmethod
    def _erase(cls, folder: Path, state: states.State | None) -> None:
        """Ends every process of the cluster and removes its folder; safe to repeat, needs no readable state."""
        if state is not None:
            state.phase = "ending"
            if folder.exists():
                state.save(folder)
        for kind in [BACKENDS[state.spec.backend]] if state else BACKENDS.values():
            kind.at(folder).take_down()
        end_processes(folder, LocalBackend())
        if folder.exists():
            shutil.rmtree(folder)
        if state is not None:
            release_block(folder, state.block)


def _locks() -> Path:
    """What processes hold while they work on a cluster."""
    return clusters_folder().parent / "locks"


def _claim(folder: Path, spec: ClusterSpec) -> int:
    """A block of addresses, for a backend whose clusters share a network; else 0."""
    if spec.backend == "local":
        return claim_block(folder, {b: plan(spec, b).listeners for b in BLOCKS})
    return claim_block(folder) if spec.backend == "docker" else 0


def _know_jvm(nodes: Sequence[KafkaNode]) -> None:
    """Has the flags of all nodes worked out before threads require them: that may take a run of a node."""
    for n in nodes:
        n.jvm()


class AlreadyUp(RackspanError):
    """`up` was requested a cluster that exists."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"cluster {name!r} exists already",
            observed="it was brought up before",
            do=f"see `rackspan status {name}`, or remove it with `rackspan down {name}`",
        )
        self.name = name


def names() -> list[str]:
    """Names of all clusters of this state home."""
    folder = clusters_folder()
    return sorted(p.name for p in folder.iterdir() if (p / states.FILE).exists()) if folder.is_dir() else []


def remains() -> list[str]:
    """Names of all clusters, and of folders whose state file is missing or unreadable."""
    folder = clusters_folder()
    return sorted(p.name for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []


def remove(name: str) -> bool:
    """Ends and removes a cluster, or what is left of one; False if there was nothing."""
    folder = clusters_folder() / name
    with KafkaCluster._alone(name):
        if not folder.exists():
            return False
        try:
            state = states.load(folder)
        except RackspanError:
            state = None  # an unreadable state must not keep its processes alive
        KafkaCluster._erase(folder, state)
    return True
