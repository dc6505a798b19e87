"""Rolling restarts: node after node is ended and started again."""

from __future__ import annotations

from typing import Literal

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.members import Targets
from harness.faults.base import Events
from harness.faults.ok_to_stop import require_ok_to_stop
from harness.faults.process import nodes_down


def rolling_restart(
    cluster: KafkaCluster,
    targets: Targets = "brokers",
    *,
    how: Literal["stop", "kill"] = "stop",
    complete: bool = True,
    ask: bool = False,
    events: Events | None = None,
) -> list[str]:
    """Restarts nodes one after the other, each once the one before serves; returns them in that order.

    `stop` shuts each down cleanly, `kill` ends it as a crash does. `complete`: the next one waits until every replica
    is in sync again. With `kill` and without that, partitions may end up without any replica that can be trusted, and
    stay without a leader. `ask`: each is restarted once `kafka-racks.sh ok-to-stop` says yes.
    Raises RackspanError; the node at hand then runs again, if it can.
    """
    names = [n.name for n in cluster.select(targets)]
    for name in names:
        if ask:
            require_ok_to_stop(cluster, name)
        with nodes_down(cluster, name, how=how, events=events, name=f"roll {how}"):
            pass
        if complete:
            cluster.wait_in_sync()
    return names
