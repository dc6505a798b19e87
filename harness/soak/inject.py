"""Faults of a schedule, made on a cluster and healed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from harness.admin.topics import MIN_REPLICAS
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.wait import Pending, pause, wait_for
from harness.faults.disk import disk_full
from harness.faults.network import cut, delay, disconnected, slowed, staggered_cut
from harness.faults.partitions import leaders_moved, replicas_moved
from harness.faults.power import power_cut
from harness.faults.process import nodes_down
from harness.faults.rolling import rolling_restart
from harness.faults.settings import changed
from harness.run_folder.run_folder import RunFolder
from harness.soak.schedule import Fault

_HARMLESS = ("message.max.bytes", 2_000_000)  # a default of the cluster that no record comes near


@dataclass(frozen=True)
class Stage:
    """The place of faults: a cluster, the run that records them, the topic under load and its min.insync.replicas."""

    cluster: KafkaCluster
    run: RunFolder
    topic: str
    min_replicas: int


def act(stage: Stage, fault: Fault) -> None:
    """Makes one fault, lets it last, heals it, and waits until every replica is in sync. Raises RackspanError."""
    match fault.what:
        case "cut_behind_pause":
            _cut_behind_pause(stage, fault)
        case "roll_stop" | "roll_kill":
            how = fault.what.removeprefix("roll_")
            rolling_restart(stage.cluster, how="stop" if how == "stop" else "kill", events=stage.run)
        case _:
            with _made(stage, fault):
                pause(fault.seconds)
    stage.cluster.wait_in_sync()


def _made(stage: Stage, fault: Fault) -> AbstractContextManager[Any]:
    """A fault that holds for a while."""
    cluster, run = stage.cluster, stage.run
    name = f"{fault.what} {fault.whom}"
    match fault.what:
        case "kill" | "stop" | "pause":
            return nodes_down(cluster, _target(stage, fault), how=fault.what, events=run, name=name)
        case "power_cut":
            return _cut(stage, fault)
        case "disk_full":
            return disk_full(cluster, _target(stage, fault), events=run, name=name)
        case "move_leaders":
            return leaders_moved(cluster, stage.topic, events=run)
        case "reassign":
            return replicas_moved(cluster, stage.topic, fault.target, events=run)
        case "change_config":
            if fault.target:
                return changed(cluster, "", *_HARMLESS, events=run)
            return changed(cluster, stage.topic, MIN_REPLICAS, stage.min_replicas + 1, events=run)
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
            return slowed(cluster, _target(stage, fault), fault.much, events=run)
        case "disconnect":
            return disconnected(cluster, _target(stage, fault), events=run)
    raise ValueError(fault.what)


def _target(stage: Stage, fault: Fault) -> str:
    """As targets are named; a role is looked up once somebody has it."""
    if fault.target:
        return f"rack:{fault.target}" if fault.whom == "rack" else fault.target
    role = "controller" if fault.whom == "controller" else f"leader:{stage.topic}-0"
    wait_for(f"somebody to be {role}", lambda: bool(stage.cluster.select(role)), 60)
    return role


def _cut(stage: Stage, fault: Fault) -> AbstractContextManager[list[str]]:
    name = f"rack_power_cut {fault.target}" if fault.whom == "rack" else f"power_cut {fault.whom}"
    return power_cut(stage.cluster, _target(stage, fault), tail=fault.tail, events=stage.run, name=name)


def _cut_behind_pause(stage: Stage, fault: Fault) -> None:
    """One rack falls out of the in-sync replicas, another loses its power, the first comes back, then the second."""
    with contextlib.ExitStack() as cut_off:
        with paused_out(stage, fault.other):
            pause(fault.seconds)
            cut_off.enter_context(_cut(stage, fault))
        pause(fault.seconds)


@contextlib.contextmanager
def paused_out(stage: Stage, rack: str) -> Iterator[None]:
    """Pauses a rack until none of its brokers is in sync any more; they continue at the end of the block."""
    nodes = [n.name for n in stage.cluster.select(f"rack:{rack}")]
    ids = {n.node.id for n in stage.cluster.select(nodes)}
    with nodes_down(stage.cluster, nodes, how="pause", events=stage.run, name=f"pause rack {rack}"):

        def probe() -> bool | Pending:
            mine = [p for p in stage.cluster.view().partitions if p.topic == stage.topic]
            late = [f"{p.partition}: {p.isr}" for p in mine if ids & set(p.isr)]
            return Pending("; ".join(late)) if late else True

        wait_for(f"rack {rack} to be out of sync", probe, 60)
        yield
