"""`rackspan down`: ends clusters."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.options import ClusterArgument, chosen
from harness.cli.output import ConsoleProgress, err
from harness.cluster import class_archive
from harness.cluster import kafka_cluster as clusters
from harness.cluster.kafka_cluster import KafkaCluster


def down(
    name: ClusterArgument = None,
    every: Annotated[bool, typer.Option("--all", help="All clusters, and what is left of interrupted ones.")] = False,
    keep_data: Annotated[bool, typer.Option("--keep-data", help="Stop in order; `up` uses the data again.")] = False,
) -> None:
    """End a cluster and remove its data; nothing left to end is success too."""
    names = clusters.remains() if every else [name] if name else [chosen(None).name] if clusters.names() else []
    for one in names:
        if keep_data:
            KafkaCluster.open(one, ConsoleProgress()).down(keep_data=True)
            err.print(f"{one}: stopped, data kept")
        elif clusters.remove(one):
            err.print(f"{one}: removed")
        else:
            err.print(f"{one}: nothing left")
    if every:
        class_archive.clear()
    if not names:
        err.print("nothing left")
