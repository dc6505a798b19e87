"""`rackspan up`: brings a cluster up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.backends import BACKENDS
from harness.cli.output import ConsoleProgress, err, out, table
from harness.cli.status import show
from harness.cli.system_packages import JAVA, NETWORKS, install
from harness.cluster.kafka_cluster import READY_SECONDS, AlreadyUp, KafkaCluster
from harness.common.errors import Exit, usage_error
from harness.spec import cluster_spec as specs
from harness.spec import inventory
from harness.spec.topology import plan


def up(
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Spec as YAML; - reads standard input.")] = None,
    racks: Annotated[str | None, typer.Option(help="Brokers per rack, as in a:2,b:2,c:2.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the cluster.")] = None,
    distribution: Annotated[str | None, typer.Option(help="rackspan, stock, or a folder.")] = None,
    controllers: Annotated[int | None, typer.Option(help="Number of controllers.")] = None,
    backend: Annotated[str | None, typer.Option(help=f"Where nodes run: {', '.join(BACKENDS)}.")] = None,
    hosts: Annotated[
        Path | None, typer.Option("--inventory", help="Machines for the backend ssh, as YAML or ducktape's JSON.")
    ] = None,
    link: Annotated[
        list[str] | None, typer.Option("--link", help="Round-trip time between racks: default=2ms, a-c=20ms.")
    ] = None,
    setting: Annotated[list[str] | None, typer.Option("--set", help="A broker setting, KEY=VALUE.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait until it is ready.")] = READY_SECONDS,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the nodes it would have, start nothing.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of a spec.")] = False,
) -> None:
    """Bring a cluster up and wait until it serves; by default 6 brokers in 3 racks and 3 controllers."""
    if schema:
        out.print(specs.json_schema(), markup=False)
        return
    data = specs.load(file).model_dump(exclude_unset=True) if file else {}
    given = {"racks": racks, "name": name, "distribution": distribution, "controllers": controllers, "backend": backend}
    data |= {key: value for key, value in given.items() if value is not None}
    if hosts:
        data["hosts"] = inventory.load(hosts)
    if setting:
        data["broker"] = data.get("broker", {}) | dict(_pair(text, "--set", "min.insync.racks=2") for text in setting)
    if link:
        data["links"] = data.get("links", {}) | dict(_pair(text, "--link", "a-b=2ms") for text in link)
    spec = specs.parse(data)
    if dry_run:
        columns = ("NODE", "RACK", "ROLE", "ID", "ADDRESS", "HEAP")
        nodes = plan(spec).nodes
        out.print(table(columns, [(n.name, n.rack, n.role, n.id, n.endpoint, n.heap) for n in nodes]))
        return
    progress = ConsoleProgress()
    install([JAVA, *([NETWORKS] if spec.backend == "netns" else [])], progress)
    try:
        cluster = KafkaCluster.up(spec, seconds=wait, progress=progress)
    except AlreadyUp:
        err.print(f"cluster {spec.name} exists already:")
        status = KafkaCluster.open(spec.name).status()
        show(status)
        raise typer.Exit(Exit.OK if status.health == "healthy" else Exit.FAILED) from None
    out.print(cluster.bootstrap)
    if cluster.name == specs.parse({}).name:
        err.print(f"next: rackspan status, rackspan stop rack:{cluster.plan.brokers[0].rack}, rackspan down")
    else:
        err.print(f"next: rackspan status {cluster.name}, rackspan down {cluster.name}")


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise usage_error(f"cannot read {option} {text}", observed="no KEY=VALUE", do=f"as in {option} {example}")
    return key.strip(), value.strip()
