"""`rackspan status`: the nodes of a cluster and their states."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from harness.cli.node_cells import in_sync, role
from harness.cli.options import ClusterArgument, ClusterOption, FormatOption, chosen, named
from harness.cli.output import Format, data, out, table
from harness.cli.watch import interactive
from harness.cli.watch import watch as live
from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.status import ClusterStatus, NodeStatus
from harness.common.errors import Exit
from harness.common.wait import pause

COLUMNS = ("NODE", "RACK", "ROLE", "ID", "ADDRESS", "PID", "STATE", "LEADERS", "IN SYNC", "ERROR")


def status(
    name: ClusterArgument = None,
    cluster: ClusterOption = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            "-w",
            help="Keep watching: a live screen on a terminal, until q is pressed; elsewhere the status is printed "
            "again at each change.",
        ),
    ] = False,
    exit_when: Annotated[
        Literal["healthy"] | None,
        typer.Option(
            metavar="healthy", help="With --watch: exit as soon as the cluster is healthy.", show_default="never"
        ),
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="With --watch: time between two polls.")] = 1.0,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show the nodes of a cluster; exit code 1 if it is not healthy."""
    watched = chosen(named(name, cluster))
    if watch and output is Format.TABLE and interactive():
        now = live(watched.name, every, lambda observed: observed.health == exit_when)
        show(now)
        raise typer.Exit(Exit.OK if now.health == "healthy" else Exit.FAILED)
    now = watched.status()
    show(now, output)
    while watch and not (exit_when and now.health == exit_when):
        pause(every)
        before, now = now, KafkaCluster.open(watched.name).status()
        if now != before:
            out.print()
            show(now, output)
    raise typer.Exit(Exit.OK if now.health == "healthy" else Exit.FAILED)


def show(now: ClusterStatus, output: Format = Format.TABLE) -> None:
    """Prints a status."""
    if output is not Format.TABLE:
        data(now.as_dict(), output)
        return
    because = f": {'; '.join(now.reasons)}" if now.reasons else ""
    out.print(f"{now.name} ({now.distribution}) is {now.health}{because}", markup=False)
    out.print(f"bootstrap {now.bootstrap}", markup=False)
    out.print(table(COLUMNS, [_row(n) for n in now.nodes]))


def _row(n: NodeStatus) -> tuple[object, ...]:
    return (n.node, n.rack, role(n), n.id, n.address, n.pid, n.state, n.leaders, in_sync(n), n.error)
