"""`rackspan start|stop|kill|pause|resume`: changes the state of nodes and racks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from harness.cli.options import ClusterOption, TargetsArgument, chosen
from harness.cli.output import out, table
from harness.cluster.kafka_cluster import KafkaCluster


def start(
    targets: TargetsArgument,
    cluster: ClusterOption = None,
    distribution: Annotated[
        str | None,
        typer.Option(
            metavar="rackspan|stock|FOLDER",
            help="Distribution that the nodes run from now on, as in an upgrade.",
            show_default="the one that they ran before",
        ),
    ] = None,
) -> None:
    """Start nodes that are down, and wait until they serve."""
    _act(targets, cluster, lambda c, names: c.start(names, distribution=distribution))


def stop(targets: TargetsArgument, cluster: ClusterOption = None) -> None:
    """Shut nodes down cleanly: a broker moves its leaders away first."""
    _act(targets, cluster, KafkaCluster.stop)


def kill(targets: TargetsArgument, cluster: ClusterOption = None) -> None:
    """Kill nodes at once (kill -9), as a crash does."""
    _act(targets, cluster, KafkaCluster.kill)


def pause(targets: TargetsArgument, cluster: ClusterOption = None) -> None:
    """Pause nodes (SIGSTOP): connections stay open, nothing is answered."""
    _act(targets, cluster, KafkaCluster.pause)


def resume(targets: TargetsArgument, cluster: ClusterOption = None) -> None:
    """Resume paused nodes (SIGCONT)."""
    _act(targets, cluster, KafkaCluster.resume)


def _act(targets: list[str], name: str | None, act: Callable[[KafkaCluster, list[str]], None]) -> None:
    cluster = chosen(name)
    nodes = [n.name for n in cluster.select(targets)]
    before = cluster.node_states(nodes)
    act(cluster, nodes)  # by name: another node may lead afterwards
    after = cluster.node_states(nodes)
    out.print(table(("NODE", "BEFORE", "AFTER"), [(n, before[n], after[n]) for n in nodes]))
