"""A rack is down: every broker and controller that is placed in it."""

from __future__ import annotations

from contextlib import AbstractContextManager

from harness.cluster.kafka_cluster import KafkaCluster
from harness.faults.base import Events
from harness.faults.process import How, nodes_down


def rack_down(
    cluster: KafkaCluster, rack: str, *, how: How = "kill", events: Events | None = None
) -> AbstractContextManager[list[str]]:
    """Takes rack `rack` away for the time of a `with` block; afterwards its nodes run and serve again."""
    return nodes_down(cluster, f"rack:{rack}", how=how, events=events, name=f"rack_down {rack}")
