"""Cells of the tables that show nodes."""

from __future__ import annotations

from harness.cluster.status import NodeStatus


def role(n: NodeStatus) -> str:
    """The role of a node; the controller that leads the quorum is the active one."""
    return "controller (active)" if n.leads_quorum else n.role


def in_sync(n: NodeStatus) -> str | None:
    """The replicas on a node that are in sync, as 3/4."""
    return None if n.replicas is None else f"{n.in_sync}/{n.replicas}"
