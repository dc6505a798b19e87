"""Arguments and options that several verbs share, and how a verb finds its cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.output import ConsoleProgress, Format
from harness.cluster import cluster_folders
from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.targets import CONTROLLER, LEADER
from harness.common.errors import RackspanError, usage_error


def complete_name(incomplete: str) -> list[str]:
    return [name for name in cluster_folders.names() if name.startswith(incomplete)]


def complete_target(incomplete: str) -> list[str]:
    try:
        nodes = chosen(None).plan.nodes
    except RackspanError:
        return []
    targets = [n.name for n in nodes] + [f"rack:{r}" for r in dict.fromkeys(n.rack for n in nodes)]
    targets += [CONTROLLER, LEADER]
    return [t for t in targets if t.startswith(incomplete)]


def is_url(place: str) -> bool:
    """True for the URL of a folder in an object store or another file system that the analysis reads."""
    return "://" in place


ONLY_CLUSTER = "the only cluster there is"

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        "-c",
        metavar="NAME",
        help="Name of the cluster.",
        show_default=ONLY_CLUSTER,
        autocompletion=complete_name,
    ),
]
ClusterArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="CLUSTER",
        help="Name of the cluster; the same as --cluster.",
        show_default=ONLY_CLUSTER,
        autocompletion=complete_name,
    ),
]
TargetsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="TARGET",
        help="Nodes: a1, all of a rack as rack:a, the leader of a partition as leader:TOPIC-0, or controller, the "
        "active one.",
        autocompletion=complete_target,
    ),
]
FormatOption = Annotated[
    Format, typer.Option("--output", "-o", metavar="table|json|yaml", help="Output format of the listing.")
]
ReportFolderOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FOLDER",
        help="Folder for report.html, report.json, the tables and the counts.",
        show_default="below build/",
    ),
]
ResultsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Folder for the logs and reports of the tests.", show_default="a new one in results/"
    ),
]
RoundsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="COUNT",
        help="Blocks of each mode. A verdict needs at least six.",
        show_default="as the workload says",
    ),
]
BlockOption = Annotated[
    float | None,
    typer.Option(
        min=1,
        metavar="SECONDS",
        help="Length of a block, and of the fault in it.",
        show_default="as the workload says",
    ),
]
WarmupOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="SECONDS",
        help="Length of the warm-up, which is not counted.",
        show_default="as the workload says",
    ),
]


def named(argument: str | None, option: str | None) -> str | None:
    """The cluster's name, given as an argument, by --cluster, or by both alike.

    Raises RackspanError (exit code 2) if they differ.
    """
    if argument is not None and option is not None and argument != option:
        raise usage_error(
            "two different clusters are named",
            observed=f"argument {argument}, --cluster {option}",
            do="name the cluster once",
        )
    return option if argument is None else argument


def chosen(name: str | None) -> KafkaCluster:
    """The cluster of that name, else the only one there is. Raises RackspanError (exit code 2)."""
    if name is not None:
        return KafkaCluster.open(name, ConsoleProgress())
    names = cluster_folders.names()
    if not names:
        raise usage_error(
            "no cluster found", observed="this user has no cluster on this machine", do="start one with `rackspan up`"
        )
    if len(names) > 1:
        raise usage_error(
            "which cluster is meant is ambiguous",
            observed=f"clusters: {', '.join(names)}",
            do="name one with --cluster NAME",
        )
    return KafkaCluster.open(names[0], ConsoleProgress())
