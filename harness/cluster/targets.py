"""Targets that move: the leader of a partition, the active controller. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from harness.cluster.cluster_view import View
from harness.common.errors import RackspanError, usage_error
from harness.spec.topology import Plan

CONTROLLER = "controller"
LEADER = "leader:"


def moves(target: str) -> bool:
    """True if the target names a role, which another node may have a moment later."""
    return target == CONTROLLER or target.startswith(LEADER)


def fixed(targets: Iterable[str], plan: Plan, look: Callable[[], View]) -> list[str]:
    """The targets with `leader:TOPIC-PARTITION` and `controller` replaced by the nodes that are it now.

    `look` is requested only where one of these is named. Raises RackspanError: exit code 2 for a partition that there
    is not, 1 where nobody has the role at the moment.
    """
    named = list(targets)
    if not any(moves(t) for t in named):
        return named
    view = look()
    return [_now(t, plan, view) if moves(t) else t for t in named]


def _now(target: str, plan: Plan, view: View) -> str:
    found = view.leader if target == CONTROLLER else _leader(target, view)
    names = [n.name for n in plan.nodes if n.id == found]
    if not names:
        raise RackspanError(
            f"no node is {target} at the moment",
            observed="the controllers have no leader" if target == CONTROLLER else "the partition has no leader",
            do="wait until `rackspan status` shows one",
        )
    return names[0]


def _leader(target: str, view: View) -> int:
    topic, _, number = target.removeprefix(LEADER).rpartition("-")
    for p in view.partitions:
        if (p.topic, str(p.partition)) == (topic, number):
            return p.leader
    topics = sorted({p.topic for p in view.partitions})
    raise usage_error(
        f"partition {target.removeprefix(LEADER)!r} not found",
        observed=f"topics: {', '.join(topics) or 'none'}",
        do="name a topic and the number of its partition, as in leader:orders-0",
    )
