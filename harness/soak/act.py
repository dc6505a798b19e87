"""Faults of a schedule, made on a cluster and healed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from kafka import KafkaAdminClient, TopicPartition

from harness.cluster import KafkaCluster
from harness.errors import RackspanError
from harness.faults.power import power_cut
from harness.faults.process import nodes_down
from harness.results import RunFolder
from harness.services.topics import MIN_REPLICAS, Topics
from harness.soak.schedule import Fault
from harness.wait import Pending, pause, wait_for

_PREFERRED = 0  # the kind of election, in Kafka's protocol


@dataclass(frozen=True)
class Stage:
    """Where faults are made: a cluster, the run that records them, the topic under load and its min.insync.replicas."""

    cluster: KafkaCluster
    run: RunFolder
    topic: str
    min_replicas: int


def act(stage: Stage, fault: Fault) -> None:
    """Makes one fault, lets it last, heals it, and waits until every replica is in sync. Raises RackspanError."""
    match fault.what:
        case "kill" | "stop" | "pause":
            name = f"{fault.what} {fault.whom}"
            with nodes_down(stage.cluster, _targets(stage, fault), how=fault.what, events=stage.run, name=name):
                pause(fault.seconds)
        case "power_cut":
            with _cut(stage, fault):
                pause(fault.seconds)
        case "cut_behind_pause":
            _cut_behind_pause(stage, fault)
        case "roll_stop" | "roll_kill":
            _roll(stage, "stop" if fault.what == "roll_stop" else "kill")
        case "move_leaders":
            _move_leaders(stage)
        case "change_config":
            topics = Topics(stage.cluster.bootstrap, stage.run)
            topics.set(stage.topic, MIN_REPLICAS, stage.min_replicas + 1)
            pause(fault.seconds)
            topics.set(stage.topic, MIN_REPLICAS, stage.min_replicas)
    stage.cluster.wait_in_sync()


def _targets(stage: Stage, fault: Fault) -> list[str]:
    if fault.whom == "rack":
        return [n.name for n in stage.cluster.select(f"rack:{fault.target}")]
    return [fault.target or _leader(stage)]


def _leader(stage: Stage) -> str:
    """The broker that leads the topic's first partition now."""

    def probe() -> str | Pending:
        found = [p for p in stage.cluster.view().partitions if p.topic == stage.topic and p.partition == 0]
        names = [n.name for n in stage.cluster.plan.brokers if found and n.id == found[0].leader]
        return names[0] if names else Pending(str(found))

    return wait_for(f"a leader of {stage.topic}-0", probe, 60)


def _cut(stage: Stage, fault: Fault) -> contextlib.AbstractContextManager[list[str]]:
    name = f"rack_power_cut {fault.target}" if fault.whom == "rack" else f"power_cut {fault.whom}"
    return power_cut(stage.cluster, _targets(stage, fault), tail=fault.tail, events=stage.run, name=name)


def _cut_behind_pause(stage: Stage, fault: Fault) -> None:
    """One rack falls out of the in-sync replicas, another loses its power, the first comes back, then the second."""
    with contextlib.ExitStack() as cut:
        with frozen_out(stage, fault.other):
            pause(fault.seconds)
            cut.enter_context(_cut(stage, fault))
        pause(fault.seconds)


@contextlib.contextmanager
def frozen_out(stage: Stage, rack: str) -> Iterator[None]:
    """Freezes a rack until none of its brokers is in sync any more; they go on at the end of the block."""
    nodes = [n.name for n in stage.cluster.select(f"rack:{rack}")]
    ids = {n.node.id for n in stage.cluster.select(nodes)}
    with nodes_down(stage.cluster, nodes, how="pause", events=stage.run, name=f"pause rack {rack}"):

        def probe() -> bool | Pending:
            mine = [p for p in stage.cluster.view().partitions if p.topic == stage.topic]
            late = [f"{p.partition}: {p.isr}" for p in mine if ids & set(p.isr)]
            return Pending("; ".join(late)) if late else True

        wait_for(f"rack {rack} to be out of sync", probe, 60)
        yield


def _roll(stage: Stage, how: str) -> None:
    """Every broker in turn is ended and started again, the next one when all are in sync."""
    for node in stage.cluster.plan.brokers:
        with nodes_down(
            stage.cluster, node.name, how="stop" if how == "stop" else "kill", events=stage.run, name=f"roll {how}"
        ):
            pass
        stage.cluster.wait_in_sync()


def _move_leaders(stage: Stage) -> None:
    """The next replica of each partition becomes its preferred leader, and leads."""
    mine = [p for p in stage.cluster.view().partitions if p.topic == stage.topic]
    wanted = {p.partition: [*p.replicas[1:], p.replicas[0]] for p in mine}
    admin = KafkaAdminClient(bootstrap_servers=stage.cluster.bootstrap.split(","), client_id="rackspan")
    try:
        admin.alter_partition_reassignments({TopicPartition(stage.topic, p): ids for p, ids in wanted.items()})
        stage.run.event("note", "leaders moved", "point", {"topic": stage.topic, "to": [w[0] for w in wanted.values()]})
        admin.elect_leaders(_PREFERRED, {stage.topic: list(wanted)}, raise_errors=False)
    finally:
        admin.close()

    def probe() -> bool | Pending:
        now = {p.partition: p.leader for p in stage.cluster.view().partitions if p.topic == stage.topic}
        return all(now.get(p) == ids[0] for p, ids in wanted.items()) or Pending(f"leaders {now}")

    with contextlib.suppress(RackspanError):  # a preferred replica that fell out of sync meanwhile is no fault
        wait_for("the moved leaders to lead", probe, 20)
