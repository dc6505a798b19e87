"""Readiness of nodes: brokers registered and unfenced, controllers following their leader."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.cluster.cluster_view import View, answers
from harness.cluster.node import KafkaNode
from harness.common.errors import RackspanError
from harness.common.wait import Pending
from harness.hosts.host import ProcessState

FOLLOWS_MS = 2000  # a controller that fetched from its leader within this time follows it


class NodeFailed(RackspanError):
    """A node ended although it should run; a wait on it ends at once."""

    def __init__(self, node: KafkaNode) -> None:
        super().__init__(
            f"{node.name} (rack {node.node.rack}) ended while it was starting",
            observed=node.last_error() or "it wrote nothing",
            do=f"read `rackspan logs {node.name}`; the node is kept as it is",
        )


def ready(chosen: Sequence[KafkaNode], look: Callable[[], View]) -> bool | Pending:
    """True if all nodes serve, as the cluster itself sees it. Raises NodeFailed if one has ended."""
    for n in chosen:
        if n.look()[1] is ProcessState.GONE:
            raise NodeFailed(n)
    # A node listens only once it has registered, or read the metadata, again. Until then the cluster may still have its
    # old registration, and the leader of the controllers a fetch of the process before.
    deaf = [n.name for n in chosen if not answers(n.node.address, n.node.port)]
    if deaf:
        return Pending(f"not listening: {', '.join(deaf)}")
    view = look()
    if view.leader < 0:
        return Pending("the controllers have no leader")
    following = {v.id for v in view.voters if 0 <= v.silent_ms < FOLLOWS_MS}
    missing = [n.name for n in chosen if n.node.id not in (view.racks if n.node.role == "broker" else following)]
    return Pending(f"not ready: {', '.join(missing)}") if missing else True
