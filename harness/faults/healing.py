"""Faults in force in a cluster, whoever made them, and healing all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.cluster.kafka_cluster import KafkaCluster
from harness.faults import partitions, settings
from harness.faults.lasting import forget, held
from harness.faults.process import heal
from harness.hosts.host import Capability, ProcessState

_PUT_BACK: Mapping[str, Callable[[KafkaCluster, Mapping[str, Any]], None]] = {
    partitions.KIND: partitions.put_back,
    settings.KIND: settings.put_back,
}


@dataclass(frozen=True)
class Active:
    """A fault in force: what, and since when (ns since the epoch; 0 where nobody wrote it down)."""

    what: str
    since_ns: int = 0

    @property
    def since(self) -> str:
        """Local time of day; "" if unknown."""
        return time.strftime("%H:%M:%S", time.localtime(self.since_ns / 1e9)) if self.since_ns else ""


def active(cluster: KafkaCluster) -> list[Active]:
    """Nodes that do not run or are paused, links that are not as the spec says, and what was moved or set."""
    states = cluster.node_states(n.name for n in cluster.plan.nodes)
    found = [Active(f"{name} is {state}") for name, state in states.items() if state != "running"]
    found += [Active(words) for words in cluster.backend.faults(cluster.plan)]
    return found + [Active(h.name, h.since_ns) for h in held(cluster)]


def apart(cluster: KafkaCluster) -> bool:
    """True if there are links that can be cut."""
    return Capability.CUT in cluster.backend.capabilities and cluster.backend.is_up()


def heal_all(cluster: KafkaCluster) -> list[str]:
    """Ends every fault, and returns what it ended, in words: links first, then nodes, then what needs both.

    Raises RackspanError at the first that cannot be ended; the others stay on the list.
    """
    ended = [a.what for a in active(cluster)]
    if apart(cluster):
        cluster.links.heal()
    nodes = [n.name for n in cluster.select("all") if n.look()[1] is not ProcessState.RUNNING]
    if nodes:
        heal(cluster, nodes)
    for one in reversed(held(cluster)):
        _PUT_BACK[one.kind](cluster, one.was)
        forget(cluster, one)
    return ended
