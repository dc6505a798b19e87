"""`rackspan status`: the nodes of a cluster and how they are."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from harness.cli.options import ClusterArgument, FormatOption, chosen
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
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Live on a terminal, until q; else again at each change.")
    ] = False,
    exit_when: Annotated[Literal["healthy"] | None, typer.Option(help="With --watch: end when it is so.")] = None,
    every: Annotated[float, typer.Option(help="Seconds between two looks.")] = 1.0,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show every node of a cluster; exit code 1 if it is not healthy."""
    cluster = chosen(name)
    if watch and output is Format.TABLE and interactive():
        now = live(cluster.name, every, lambda observed: observed.health == exit_when)
        show(now)
        raise typer.Exit(Exit.OK if now.health == "healthy" else Exit.FAILED)
    now = cluster.status()
    show(now, output)
    while watch and not (exit_when and now.health == exit_when):
        pause(every)
        before, now = now, KafkaCluster.open(cluster.name).status()
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
    in_sync = None if n.replicas is None else f"{n.in_sync}/{n.replicas}"
    role = "controller (leader)" if n.leads_quorum else n.role
    return (n.node, n.rack, role, n.id, n.address, n.pid, n.state, n.leaders, in_sync, n.error)
