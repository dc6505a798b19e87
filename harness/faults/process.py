"""Faults of single processes: killed, stopped in order, frozen."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal

from harness.backends.base import ProcessState
from harness.cluster import KafkaCluster, Targets
from harness.faults.base import Events, fault

How = Literal["kill", "stop", "pause"]


def nodes_down(
    cluster: KafkaCluster,
    targets: Targets,
    *,
    how: How = "kill",
    events: Events | None = None,
    name: str = "nodes_down",
) -> AbstractContextManager[None]:
    """Takes nodes away: `kill` as a crash, `stop` in order, `pause` as a hang. Healed: they run and serve again."""
    chosen = cluster.select(targets)
    names = [n.name for n in chosen]
    data = {"nodes": names, "ids": [n.node.id for n in chosen], "how": how}

    def begin() -> None:
        {"kill": cluster.kill, "stop": cluster.stop, "pause": cluster.pause}[how](names)

    return fault(name, begin, lambda: heal(cluster, names), events, data)


def heal(cluster: KafkaCluster, targets: Targets) -> None:
    """Lets frozen nodes go on and starts the ones that do not run; waits until all serve."""
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
