"""The state of a cluster as a table: pure, from the processes' states and the cluster's own view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from harness.cluster.cluster_view import View
from harness.cluster.refusals import RefusedTopic
from harness.cluster.refusals import reasons as reasons_of
from harness.hosts.host import Process, ProcessState
from harness.spec.cluster_state import State, Wanted
from harness.spec.topology import Node


@dataclass(frozen=True)
class NodeStatus:
    """A node: `state` is running, paused, stopped, crashed (it was killed), failed (it ended by itself) or unreachable;
    counts are None where no broker answered.
    """

    node: str
    rack: str
    role: str
    id: int
    address: str
    pid: int | None
    state: str
    leaders: int | None = None
    in_sync: int | None = None
    replicas: int | None = None
    leads_quorum: bool = False
    error: str = ""

    @classmethod
    def of(cls, node: Node, process: Process | None, state: ProcessState, wanted: Wanted, error: str) -> NodeStatus:
        """From the process alone."""
        pid = None if process is None or state is ProcessState.GONE else process.pid
        ended = "failed" if wanted == "running" else wanted
        word = ended if pid is None else str(state.value)
        return cls(node.name, node.rack, node.role, node.id, node.endpoint, pid, word, error=error)


@dataclass(frozen=True)
class ClusterStatus:
    """A cluster: `health` is healthy, degraded, down or failed; `reasons` say why it is not healthy."""

    name: str
    distribution: str
    phase: str
    health: str
    reasons: tuple[str, ...]
    bootstrap: str
    folder: str
    nodes: tuple[NodeStatus, ...]
    refused: tuple[RefusedTopic, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON and YAML."""
        lists = {"nodes": [asdict(n) for n in self.nodes], "refused": [asdict(t) for t in self.refused]}
        return asdict(self) | {"reasons": list(self.reasons)} | lists


def summarize(
    state: State,
    bootstrap: str,
    nodes: Sequence[NodeStatus],
    view: View | None,
    silence: str,
    folder: str = "",
    faults: Sequence[str] = (),
    refused: Sequence[RefusedTopic] = (),
) -> ClusterStatus:
    """Joins processes, view, faults of the network and topics that refuse writes. A running broker that the cluster
    does not count in is `unreachable`.
    """
    rows = tuple(_with_view(n, view) for n in nodes)
    reasons = [*faults]
    reasons += [f"{n.node} is {n.state}" for n in rows if n.state != "running"]
    voters = [n for n in rows if n.role == "controller"]
    up = sum(n.state == "running" for n in voters)
    lost = f"controller quorum lost: {up} of {len(voters)} voters up" if up <= len(voters) // 2 else ""
    if view is None:
        reasons.append(lost or silence or "no broker runs")
    else:
        reasons += reasons_of(refused)
        if view.leader < 0:
            reasons.append(lost or "the controllers have no leader")
        if view.leaderless:
            reasons.append(f"{len(view.leaderless)} partitions without leader")
        if view.under_replicated:
            reasons.append(f"{len(view.under_replicated)} partitions under-replicated")
    if not reasons:
        health = "healthy"
    elif view is not None:
        health = "degraded"
    else:
        health = "failed" if any(n.state == "failed" for n in rows) else "down"
    distribution = state.distribution.rstrip("/").rpartition("/")[2]
    return ClusterStatus(
        state.spec.name, distribution, state.phase, health, tuple(reasons), bootstrap, folder, rows, tuple(refused)
    )


def _with_view(n: NodeStatus, view: View | None) -> NodeStatus:
    if view is None:
        return n
    if n.role == "controller":
        silent = next((v.silent_ms for v in view.voters if v.id == n.id), -1)
        behind = n.state == "running" and view.leader >= 0 and not 0 <= silent < 5000
        return replace(n, leads_quorum=n.id == view.leader, state="unreachable" if behind else n.state)
    in_sync, replicas = view.replicas_of(n.id)
    state = "unreachable" if n.state == "running" and n.id not in view.racks else n.state
    return replace(n, leaders=view.led_by(n.id), in_sync=in_sync, replicas=replicas, state=state)
