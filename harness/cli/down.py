"""`rackspan down`: stops and removes clusters."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.options import ClusterArgument, ClusterOption, chosen, named
from harness.cli.output import ConsoleProgress, err
from harness.cluster import class_archive, cluster_folders, lifecycle
from harness.cluster.kafka_cluster import KafkaCluster


def down(
    name: ClusterArgument = None,
    cluster: ClusterOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="Remove all clusters, and what interrupted commands left behind.")
    ] = False,
    keep_data: Annotated[
        bool,
        typer.Option("--keep-data", help="Shut the nodes down cleanly and keep their data for the next `up`."),
    ] = False,
) -> None:
    """Stop a cluster and remove its data; success also if there is no such cluster."""
    one = named(name, cluster)
    known = cluster_folders.remains() if every else cluster_folders.names()
    names = known if every else [one] if one else [chosen(None).name] if known else []
    for found in names:
        if keep_data:
            KafkaCluster.open(found, ConsoleProgress()).down(keep_data=True)
            err.print(f"cluster {found!r} stopped, data kept", markup=False)
        elif lifecycle.remove(found):
            err.print(f"cluster {found!r} removed", markup=False)
        else:
            err.print(f"cluster {found!r} not found: nothing to remove", markup=False)
    if every:
        class_archive.clear()
    if not names:
        err.print("no cluster found: nothing to remove")
