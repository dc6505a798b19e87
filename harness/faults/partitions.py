"""Planned moves as faults: leaders, and replicas across racks; afterwards all is where it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from harness.admin.reassignment import lead, places, reassign
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import usage_error
from harness.faults.base import Events
from harness.faults.lasting import Lasting, holding
from harness.spec.topology import Node

KIND = "places"


def leaders_moved(
    cluster: KafkaCluster, topic: str, to: str = "", *, events: Events | None = None
) -> AbstractContextManager[None]:
    """Every partition of a topic is led by broker `to`, or by the next of its replicas, for the time of a block."""
    return holding(cluster, moved_leaders(cluster, topic, to), events)


def replicas_moved(
    cluster: KafkaCluster, topic: str, rack: str, *, events: Events | None = None
) -> AbstractContextManager[None]:
    """A topic has no replica in a rack for the time of a block; see `moved_replicas`."""
    return holding(cluster, moved_replicas(cluster, topic, rack), events)


def moved_leaders(cluster: KafkaCluster, topic: str, to: str = "") -> Lasting:
    """Leaders moved, as a fault to be held. Raises RackspanError (exit code 2) where `to` has no replica."""
    now = places(cluster, topic)
    first = cluster.plan.node(to).id if to else None
    wanted = {p: led_by(ids, ids[1 % len(ids)] if first is None else first) for p, ids in now.items()}
    lacking = [p for p, ids in now.items() if first is not None and first not in ids]
    if lacking:
        raise usage_error(
            f"{to} cannot lead {topic}-{lacking[0]}",
            observed=f"its replicas are on {', '.join(_names(cluster, now[lacking[0]]))}",
            do="name one of these",
        )

    def make() -> None:
        reassign(cluster, topic, wanted)
        lead(cluster, topic, list(wanted))

    return _lasting(cluster, f"leaders of {topic} moved", topic, wanted, make)


def moved_replicas(cluster: KafkaCluster, topic: str, rack: str) -> Lasting:
    """Replicas moved out of a rack, as a fault to be held: each goes to a broker elsewhere that has none, or, where
    there is no such broker, goes altogether. Healed: it is copied back completely. Raises RackspanError.
    """
    cluster.plan.select(f"rack:{rack}")
    wanted = {p: without(ids, rack, cluster.plan.brokers) for p, ids in places(cluster, topic).items()}
    if not all(wanted.values()):
        raise usage_error(
            f"cannot move {topic} out of rack {rack}", observed="no broker is anywhere else", do="name another rack"
        )
    return _lasting(
        cluster, f"replicas of {topic} out of rack {rack}", topic, wanted, lambda: reassign(cluster, topic, wanted)
    )


def put_back(cluster: KafkaCluster, was: Mapping[str, Any]) -> None:
    """Replicas and preferred leaders as they were. Raises RackspanError."""
    wanted = {int(p): ids for p, ids in was["places"].items()}
    reassign(cluster, was["topic"], wanted)
    lead(cluster, was["topic"], list(wanted))


def led_by(replicas: Sequence[int], leader: int) -> list[int]:
    """The replicas with this one first."""
    return [leader, *(r for r in replicas if r != leader)]


def without(replicas: Sequence[int], rack: str, brokers: Sequence[Node]) -> list[int]:
    """The replicas with those in the rack on other brokers, as far as there are any without one."""
    inside = {n.id for n in brokers if n.rack == rack}
    free = [n.id for n in brokers if n.id not in inside and n.id not in replicas]
    moved = [(free.pop(0) if free else None) if r in inside else r for r in replicas]
    return [r for r in moved if r is not None]


def _lasting(cluster: KafkaCluster, name: str, topic: str, wanted: Mapping[int, Sequence[int]], make: Any) -> Lasting:
    def look() -> dict[str, Any]:
        return {"topic": topic, "places": {str(p): ids for p, ids in places(cluster, topic).items()}}

    data = {"topic": topic, "to": {str(p): list(ids) for p, ids in wanted.items()}}
    return Lasting(name, KIND, data, look, make, lambda was: put_back(cluster, was))


def _names(cluster: KafkaCluster, ids: Sequence[int]) -> list[str]:
    return [n.name for n in cluster.plan.brokers if n.id in ids]
