"""Arguments and options that several verbs share, and how a verb finds its cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.output import ConsoleProgress, Format
from harness.cluster import kafka_cluster as clusters
from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.targets import CONTROLLER, LEADER
from harness.common.errors import RackspanError, usage_error


def complete_name(incomplete: str) -> list[str]:
    return [name for name in clusters.names() if name.startswith(incomplete)]


def complete_target(incomplete: str) -> list[str]:
    try:
        nodes = chosen(None).plan.nodes
    except RackspanError:
        return []
    targets = [n.name for n in nodes] + [f"rack:{r}" for r in dict.fromkeys(n.rack for n in nodes)]
    targets += [CONTROLLER, LEADER]
    return [t for t in targets if t.startswith(incomplete)]


ClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", "-c", help="Cluster; the only one if not given.", autocompletion=complete_name),
]
ClusterArgument = Annotated[
    str | None, typer.Argument(help="Cluster; the only one if not given.", autocompletion=complete_name)
]
TargetsArgument = Annotated[
    list[str], typer.Argument(help="Nodes as a1, rack:a, leader:TOPIC-0, controller.", autocompletion=complete_target)
]
FormatOption = Annotated[Format, typer.Option("--output", "-o", help="How to print.")]


def chosen(name: str | None) -> KafkaCluster:
    """The cluster of that name, else the only one there is. Raises RackspanError (exit code 2)."""
    if name is not None:
        return KafkaCluster.open(name, ConsoleProgress())
    names = clusters.names()
    if not names:
        raise usage_error("there is no cluster", observed="none was brought up", do="bring one up with `rackspan up`")
    if len(names) > 1:
        raise usage_error(
            "it is not clear which cluster is meant",
            observed=f"clusters: {', '.join(names)}",
            do="name one, as in `rackspan status NAME` or `rackspan stop a1 --cluster NAME`",
        )
    return KafkaCluster.open(names[0], ConsoleProgress())
