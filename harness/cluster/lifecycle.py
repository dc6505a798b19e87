"""The beginning and the end of clusters: brought up, brought up again from kept data, taken down, removed."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from harness.backends import BACKENDS
from harness.backends.base import end_processes
from harness.backends.local import LocalBackend
from harness.cluster import node_operations, security, storage
from harness.cluster.cluster_folders import alone, names
from harness.cluster.members import Members
from harness.cluster.node import KafkaNode, count_of
from harness.common.errors import RackspanError, usage_error
from harness.common.paths import BLOCKS, claim_block, clusters_folder, release_block
from harness.common.progress import Progress
from harness.distribution.locate import find
from harness.spec import cluster_state
from harness.spec.cluster_spec import NAME, ClusterSpec
from harness.spec.topology import plan


class AlreadyUp(RackspanError):
    """`up` was called for a cluster that exists."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"cluster {name!r} exists already",
            observed="it was brought up before",
            do=f"see `rackspan status {name}`, or remove it with `rackspan down {name}`",
        )
        self.name = name


def up(spec: ClusterSpec, seconds: float, progress: Progress, *, tied: bool) -> Members:
    """Brings a new cluster up and waits until every node is ready.

    `tied`: where the backend can, the cluster ends with this process, however that ends.

    What an interrupted run left under the same name is ended first; kept data is used again. A node that fails is left
    as it is, with its error; Ctrl-C ends everything. Raises RackspanError, also if the cluster is up already.
    """
    folder = clusters_folder() / spec.name
    BACKENDS[spec.backend].at(folder).prepare()
    with alone(spec.name):
        old = cluster_state.load(folder)
        if old is not None and old.phase in ("up", "failed"):
            raise AlreadyUp(spec.name)
        if old is not None and old.phase == "kept":
            return _up_again(Members(folder, old, progress), spec, seconds, tied)
        if old is not None or folder.exists():
            with progress.step("leftovers of an interrupted run ended"):
                _erase(folder, old)
        distribution = find(spec.distribution)
        for override in spec.nodes.values():
            find(override.distribution or spec.distribution)
        folder.mkdir(parents=True)
        block = _claim(folder, spec)
        state = cluster_state.State(
            spec=spec, distribution=str(distribution.home), block=block, cluster_id=storage.random_id()
        )
        state.nodes = {node.name: cluster_state.NodeRecord() for node in plan(spec, block).nodes}
        state.save(folder)
        members = Members(folder, state, progress)
        with _erased_if_interrupted(members):
            _begin(members, seconds)
        if not tied:
            members.backend.let_go()
        return members


def open_cluster(name: str, progress: Progress | None = None) -> Members:
    """The cluster of that name. Raises RackspanError (exit code 2) if there is none."""
    state = cluster_state.load(clusters_folder() / name) if re.fullmatch(NAME, name) else None
    if state is None:
        raise usage_error(
            f"cluster {name!r} not found",
            observed=f"clusters: {', '.join(names()) or 'none'}",
            do=f"start it with `rackspan up --name {name}`, or name another one",
        )
    return Members(clusters_folder() / name, state, progress)


def down(members: Members, *, keep_data: bool = False) -> None:
    """Ends a cluster. With `keep_data` nodes shut down cleanly and the folder stays for the next `up`."""
    with alone(members.name):
        if not keep_data:
            _erase(members.folder, members.state)
            return
        members.reload()
        node_operations.stop(members, members.select("all"), node_operations.STOP_SECONDS)
        members.backend.take_down()
        members.enter_phase("kept")


def remove(name: str) -> bool:
    """Ends and removes a cluster, or what is left of one; False if there was nothing."""
    folder = clusters_folder() / name
    with alone(name):
        if not folder.exists():
            return False
        try:
            state = cluster_state.load(folder)
        except RackspanError:
            state = None  # an unreadable state must not keep its processes alive
        _erase(folder, state)
    return True


def _up_again(members: Members, spec: ClusterSpec, seconds: float, tied: bool) -> Members:
    if members.state.spec != spec:
        raise usage_error(
            f"cluster {spec.name!r} was kept with another spec",
            observed="data of the kept one is still there",
            do=f"start it as it was with `rackspan start all`, or remove it with `rackspan down {spec.name}`",
        )
    chosen = members.all()
    members.want(chosen, "running")
    node_operations.make_network(members)
    node_operations.start(members, chosen, seconds)
    if not tied:
        members.backend.let_go()
    members.enter_phase("up")
    return members


def _begin(members: Members, seconds: float) -> None:
    nodes = members.all()
    node_operations.know_jvm(nodes)  # before storage is formatted
    node_operations.make_network(members)
    with members.progress.step(f"storage of {count_of(nodes)} formatted"):
        members.each(nodes, KafkaNode.write_config)
        security.provide(members.folder, members.plan, nodes)
        storage.format_cluster(nodes, members.state.cluster_id, members.state.spec.features)
    members.want(nodes, "running")
    try:
        node_operations.start(members, nodes, seconds)
    except RackspanError:
        members.enter_phase("failed")
        raise
    members.enter_phase("up")


@contextlib.contextmanager
def _erased_if_interrupted(members: Members) -> Iterator[None]:
    try:
        yield
    except BaseException as e:
        if not isinstance(e, RackspanError):
            _erase(members.folder, members.state)
        raise


def _erase(folder: Path, state: cluster_state.State | None) -> None:
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


def _claim(folder: Path, spec: ClusterSpec) -> int:
    """A block of addresses, for a backend whose clusters share a network; else 0."""
    if spec.backend == "local":
        return claim_block(folder, {b: plan(spec, b).listeners for b in BLOCKS})
    return claim_block(folder) if spec.backend == "docker" else 0
