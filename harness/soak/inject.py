"""Faults of a schedule, made on a cluster and healed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from harness.admin.topics import MIN_RACKS, MIN_REPLICAS, Topics
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.wait import Pending, pause, wait_for
from harness.faults.disk import disk_full
from harness.faults.network import cut, delay, disconnected, slowed, staggered_cut
from harness.faults.partitions import leaders_moved, replicas_moved
from harness.faults.power import power_cut
from harness.faults.process import nodes_down
from harness.faults.rolling import rolling_restart
from harness.faults.settings import changed
from harness.recording.degrades import DEGRADE
from harness.run_folder.run_folder import RunFolder
from harness.soak.schedule import ScheduledFault

_HARMLESS = ("message.max.bytes", 2_000_000)  # a default of the cluster that no record comes near


@dataclass(frozen=True)
class FaultPlace:
    """The place of faults: a cluster, the run that records them, the topic under load and its min.insync.replicas."""

    cluster: KafkaCluster
    run: RunFolder
    topic: str
    min_replicas: int


def act(place: FaultPlace, fault: ScheduledFault) -> None:
    """Makes one fault, lets it last, heals it, and waits until every replica is in sync. Raises RackspanError."""
    match fault.what:
        case "cut_behind_pause":
            _cut_behind_pause(place, fault)
        case "degrade":
            _degrade(place, fault)
        case "roll_stop" | "roll_kill":
            how = fault.what.removeprefix("roll_")
            rolling_restart(place.cluster, how="stop" if how == "stop" else "kill", events=place.run)
        case _:
            with _made(place, fault):
                pause(fault.seconds)
    place.cluster.wait_in_sync()


def _made(place: FaultPlace, fault: ScheduledFault) -> AbstractContextManager[Any]:
    """A fault that holds for a while."""
    cluster, run = place.cluster, place.run
    name = f"{fault.what} {fault.whom}"
    match fault.what:
        case "kill" | "stop" | "pause":
            return nodes_down(cluster, _target(place, fault), how=fault.what, events=run, name=name)
        case "power_cut":
            return _cut(place, fault)
        case "disk_full":
            return disk_full(cluster, _target(place, fault), events=run, name=name)
        case "move_leaders":
            return leaders_moved(cluster, place.topic, events=run)
        case "reassign":
            return replicas_moved(cluster, place.topic, fault.target, events=run)
        case "change_config":
            if fault.target:
                return changed(cluster, "", *_HARMLESS, events=run)
            return changed(cluster, place.topic, MIN_REPLICAS, place.min_replicas + 1, events=run)
        case "cut" | "cut_one_way":
            return cut(cluster, fault.target, fault.other or None, one_way=fault.what == "cut_one_way", events=run)
        case "delay":
            return delay(cluster, fault.target, fault.other, fault.much, events=run)
        case "loss":
            now = cluster.links.state.link(fault.target, fault.other)
            return delay(cluster, fault.target, fault.other, now.rtt, jitter=now.jitter, loss=fault.much, events=run)
        case "stagger":
            return staggered_cut(cluster, fault.target, gap=fault.much, events=run)
        case "slow":
            return slowed(cluster, _target(place, fault), fault.much, events=run)
        case "disconnect":
            return disconnected(cluster, _target(place, fault), events=run)
    raise ValueError(fault.what)


def _target(place: FaultPlace, fault: ScheduledFault) -> str:
    """The target of a fault, as targets are written; a role is used once a node has it."""
    if fault.target:
        return f"rack:{fault.target}" if fault.whom == "rack" else fault.target
    role = "controller" if fault.whom == "controller" else f"leader:{place.topic}-0"
    wait_for(f"a node to be {role}", lambda: bool(place.cluster.select(role)), 60)
    return role


def _cut(place: FaultPlace, fault: ScheduledFault) -> AbstractContextManager[list[str]]:
    name = f"rack_power_cut {fault.target}" if fault.whom == "rack" else f"power_cut {fault.whom}"
    return power_cut(place.cluster, _target(place, fault), tail=fault.tail, events=place.run, name=name)


def _cut_behind_pause(place: FaultPlace, fault: ScheduledFault) -> None:
    """One rack falls out of the in-sync replicas, another loses its power, the first comes back, then the second."""
    with contextlib.ExitStack() as cut_off:
        with paused_out(place, fault.other):
            pause(fault.seconds)
            cut_off.enter_context(_cut(place, fault))
        pause(fault.seconds)


@contextlib.contextmanager
def paused_out(place: FaultPlace, rack: str) -> Iterator[None]:
    """Pauses a rack until none of its brokers is in sync any more; they continue at the end of the block."""
    nodes = [n.name for n in place.cluster.select(f"rack:{rack}")]
    with nodes_down(place.cluster, nodes, how="pause", events=place.run, name=f"pause rack {rack}"):
        _wait_out_of_sync(place, rack)
        yield


def _wait_out_of_sync(place: FaultPlace, rack: str) -> None:
    ids = {n.node.id for n in place.cluster.select(f"rack:{rack}")}

    def probe() -> bool | Pending:
        mine = [p for p in place.cluster.view().partitions if p.topic == place.topic]
        late = [f"{p.partition}: {p.isr}" for p in mine if ids & set(p.isr)]
        return Pending("; ".join(late)) if late else True

    wait_for(f"rack {rack} to be out of sync", probe, 60)


def _degrade(place: FaultPlace, fault: ScheduledFault) -> None:
    """Leaves one rack in sync, the power of another cut, and lets writes continue there by a degrade, before and after
    its brokers are killed. With a torn tail it ends before the racks return.
    """
    cluster, run = place.cluster, place.run
    racks = {n.rack for n in cluster.plan.brokers} - {fault.target, fault.other}
    cut_off = replace(fault, target=fault.other)
    with contextlib.ExitStack() as lowered, contextlib.ExitStack() as down:
        down.enter_context(_cut(place, cut_off))
        for rack in sorted(racks):
            down.enter_context(paused_out(place, rack))
        _wait_out_of_sync(place, fault.other)
        lowered.enter_context(_degraded(place, fault.target))
        pause(fault.seconds)
        with nodes_down(cluster, f"rack:{fault.target}", how="kill", events=run, name=f"kill rack {fault.target}"):
            pause(1)
        pause(fault.seconds)
        if fault.tail == "torn":
            lowered.close()


@contextlib.contextmanager
def _degraded(place: FaultPlace, rack: str) -> Iterator[None]:
    """One in-sync replica in one rack suffices for the time of a block, by the brokers of that rack."""
    place.cluster.backend.enter()
    brokers = place.cluster.select(f"rack:{rack}")
    topics = Topics(",".join(n.node.endpoint for n in brokers), place.run)
    before = topics.own(place.topic, MIN_RACKS)
    topics.set(place.topic, MIN_REPLICAS, 1)
    topics.set(place.topic, DEGRADE, f"to=1,for=1h,reason=rack {rack} only")
    _wait_for_racks(topics, place.topic, "1")
    try:
        yield
    finally:
        topics.unset(place.topic, DEGRADE)
        _wait_for_racks(topics, place.topic, before)
        topics.set(place.topic, MIN_REPLICAS, place.min_replicas)


def _wait_for_racks(topics: Topics, topic: str, racks: str | None) -> None:
    def there() -> bool | Pending:
        now = topics.own(topic, MIN_RACKS)
        return now == racks or Pending(f"it is {now}")

    wait_for(f"{MIN_RACKS} of {topic} to be {racks}", there, 60)
