"""Faults of single processes: killed, shut down cleanly, paused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.members import Targets
from harness.cluster.node import KafkaNode
from harness.cluster.targets import moves
from harness.faults.base import Events, fault
from harness.hosts.host import ProcessState

How = Literal["kill", "stop", "pause"]


@contextmanager
def nodes_down(
    cluster: KafkaCluster,
    targets: Targets,
    *,
    how: How = "kill",
    events: Events | None = None,
    name: str = "nodes_down",
) -> Iterator[list[str]]:
    """Takes nodes away: `kill` as a crash, `stop` in order, `pause` as a hang. Healed: they run and serve again.

    The block gets their names.
    """
    chosen, data = reported(cluster, targets)
    names = [n.name for n in chosen]

    def begin() -> None:
        {"kill": cluster.kill, "stop": cluster.stop, "pause": cluster.pause}[how](names)

    with fault(name, begin, lambda: heal(cluster, names), events, data | {"how": how}):
        yield names


def reported(cluster: KafkaCluster, targets: Targets) -> tuple[list[KafkaNode], dict[str, Any]]:
    """The nodes that targets name now, and what is recorded of them: `requested` where a role was named (the leader of
    a partition, the active controller), since another node may have it later.
    """
    named = [targets] if isinstance(targets, str) else list(targets)
    chosen = cluster.select(named)
    data: dict[str, Any] = {"nodes": [n.name for n in chosen], "ids": [n.node.id for n in chosen]}
    return chosen, data | ({"requested": named} if any(moves(t) for t in named) else {})


def heal(cluster: KafkaCluster, targets: Targets) -> None:
    """Lets paused nodes continue and starts the ones that do not run; waits until all serve."""
    chosen = cluster.select(targets)
    states = {n.name: n.look()[1] for n in chosen}
    paused = [name for name, state in states.items() if state is ProcessState.PAUSED]
    gone = [name for name, state in states.items() if state is ProcessState.GONE]
    if paused:
        cluster.resume(paused)
    if gone:
        cluster.start(gone)
    if paused:
        cluster.wait_ready(paused)
