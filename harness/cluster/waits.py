"""Waiting for a cluster: nodes ready, replicas in sync, everything healthy."""

from __future__ import annotations

from harness.cluster.members import Members, Targets
from harness.cluster.node import count_of, names_of
from harness.cluster.readiness import NodeFailed, ready
from harness.common.errors import RackspanError
from harness.common.wait import Pending, wait_for

READY_SECONDS = 300.0
_EVERY = 0.3  # seconds: each look makes new connections, which costs nodes and harness processor time


def wait_ready(members: Members, targets: Targets, seconds: float) -> None:
    """Waits until brokers are registered and unfenced and controllers follow their leader. Raises RackspanError."""
    chosen = members.select(targets)
    members.backend.enter()
    with members.progress.step(f"{count_of(chosen)} ready") as update:
        try:
            wait_for(
                f"{names_of(chosen)} to be ready",
                lambda: ready(chosen, members.view),
                seconds,
                every=_EVERY,
                at_once=NodeFailed,
                update=update,
            )
        except RackspanError:
            members.note_errors(chosen)
            raise


def wait_in_sync(members: Members, seconds: float) -> None:
    """Waits until every partition has a leader and all its replicas in sync. Raises WaitTimeout."""

    def in_sync() -> bool | Pending:
        now = members.view()
        late = now.under_replicated
        return Pending(f"{len(late)} partitions under-replicated, first {late[0]}") if late else not now.leaderless

    with members.progress.step("all replicas in sync") as update:
        wait_for("all replicas in sync", in_sync, seconds, every=_EVERY, update=update)


def wait_healthy(members: Members, seconds: float) -> None:
    """Waits until all nodes serve and all replicas are in sync. Raises WaitTimeout that names what is missing."""

    def healthy() -> bool | Pending:
        now = members.status()
        return now.health == "healthy" or Pending("; ".join(now.reasons))

    with members.progress.step("cluster healthy") as update:
        wait_for(f"cluster {members.name} to be healthy", healthy, seconds, every=_EVERY, update=update)
