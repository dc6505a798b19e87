"""The cluster that ducktape hands to tests: slots by rack, and slots for clients.

Named on ducktape's command line (`--cluster harness.ducktape_support.rack_cluster.RackCluster`). A slot stands for a
machine; which address and folder it has is settled when a service brings its nodes up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ducktape.cluster.cluster import Cluster
from ducktape.cluster.cluster_node import ClusterNode
from ducktape.cluster.cluster_spec import ClusterSpec as NodesSpec
from ducktape.cluster.node_container import NodeContainer
from ducktape.cluster.node_spec import NodeSpec

from harness.backends.local import LocalHost
from harness.common.errors import usage_error
from harness.common.paths import state_home
from harness.ducktape_support.host_account import HostAccount

CLIENT = "client"
SLOTS = {"a": 24, "b": 24, "c": 24, "d": 24, CLIENT: 160}


class RackCluster(Cluster):  # type: ignore[misc]  # ducktape has no types
    """Slots as node types: racks a to d, and `client`. `cluster_file` may give others, as JSON {"slots": {"a": 8}}."""

    def __init__(self, cluster_file: str | None = None, **unused: Any) -> None:
        super().__init__()
        self._free = NodeContainer()
        self._in_use = NodeContainer()
        for node_type, count in _slots(cluster_file).items():
            for number in range(1, count + 1):
                self._free.add_node(_node(node_type, number))

    def do_alloc(self, cluster_spec: NodesSpec) -> list[ClusterNode]:
        """Takes nodes out. Raises InsufficientResourcesError."""
        nodes, _ = self._free.remove_spec(cluster_spec)
        self._in_use.add_nodes(nodes)
        return list(nodes)

    def free_single(self, node: ClusterNode) -> None:
        """Puts a node back."""
        self._in_use.remove_node(node)
        self._free.add_node(node)
        node.account.close()

    def available(self) -> NodesSpec:
        """The free nodes."""
        return NodesSpec.from_nodes(self._free)

    def used(self) -> NodesSpec:
        """The allocated nodes."""
        return NodesSpec.from_nodes(self._in_use)


def nodes_by_type(types: Iterable[str]) -> NodesSpec:
    """A request for one node of each type named, with repetition."""
    return NodesSpec(nodes=[NodeSpec("linux", node_type) for node_type in types])


def _node(node_type: str, number: int) -> ClusterNode:
    slot = f"{node_type}-{number}"
    host = LocalHost(slot, "127.0.0.1", str(state_home() / "hosts" / slot))
    # ducktape looks for the type on the node, not on its account
    return ClusterNode(HostAccount(slot, node_type, host), node_type=node_type)


def _slots(cluster_file: str | None) -> dict[str, int]:
    if cluster_file is None or not Path(cluster_file).exists():
        return SLOTS
    data = json.loads(Path(cluster_file).read_text(encoding="utf-8"))
    slots = data.get("slots") if isinstance(data, dict) else None
    if not isinstance(slots, dict) or not all(isinstance(n, int) and n >= 0 for n in slots.values()):
        raise usage_error(
            f"{cluster_file} describes no test cluster",
            observed=f"slots are {slots!r}",
            do='write slots by rack, as in {"slots": {"a": 8, "b": 8, "c": 8, "client": 8}}',
        )
    return slots
