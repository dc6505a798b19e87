"""`rackspan up`: starts a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.backends import BACKENDS
from harness.cli.output import ConsoleProgress, err, out, table
from harness.cli.status import show
from harness.cli.system_packages import JAVA, NETWORKS, install
from harness.cluster import monitoring
from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.lifecycle import AlreadyUp
from harness.cluster.waits import READY_SECONDS
from harness.common.errors import Exit, usage_error
from harness.distribution.known_settings import ONLY_AS_DEFAULT, cluster_defaults, known_settings
from harness.distribution.locate import find
from harness.faults.settings import put
from harness.spec import cluster_spec as specs
from harness.spec import inventory
from harness.spec.topology import plan

_DEFAULTS = specs.parse({})
_RACKS = ",".join(f"{rack}:{brokers}" for rack, brokers in _DEFAULTS.racks.items())


def up(
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="Cluster spec as YAML; - reads standard input. The options below override its keys.",
            show_default="no file",
        ),
    ] = None,
    racks: Annotated[
        str | None, typer.Option(metavar="RACK:COUNT,...", help="Number of brokers in each rack.", show_default=_RACKS)
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", "--cluster", "-c", metavar="NAME", help="Name of the cluster.", show_default=_DEFAULTS.name
        ),
    ] = None,
    distribution: Annotated[
        str | None,
        typer.Option(
            metavar="rackspan|stock|FOLDER",
            help="Kafka distribution that the nodes run.",
            show_default=_DEFAULTS.distribution,
        ),
    ] = None,
    controllers: Annotated[
        int | None,
        typer.Option(metavar="COUNT", help="Number of controllers.", show_default=str(_DEFAULTS.controllers)),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(metavar="|".join(BACKENDS), help="Where the nodes run.", show_default=_DEFAULTS.backend),
    ] = None,
    hosts: Annotated[
        Path | None,
        typer.Option(
            "--inventory",
            metavar="FILE",
            help="Machines for the backend ssh, as YAML or as ducktape's JSON.",
            show_default="no machines",
        ),
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(
            "--link",
            metavar="RACK-RACK=RTT",
            help="Round-trip time between two racks, as a-c=20ms; default=2ms is for all other pairs. May be repeated.",
            show_default="no delay",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Setting of all brokers, and of the cluster's defaults where it has one. May be repeated.",
            show_default="as the spec says",
        ),
    ] = None,
    monitored: Annotated[
        bool,
        typer.Option(
            "--monitoring", help="Start Prometheus beside the cluster, with its alert rules; it ends with the cluster."
        ),
    ] = False,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time to wait until the cluster is ready.")
    ] = READY_SECONDS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the nodes that the cluster would have, and start nothing.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of the cluster spec, and start nothing.")
    ] = False,
) -> None:
    """Start a cluster and wait until it is ready. Data that `down --keep-data` kept is used again."""
    if schema:
        out.print(specs.json_schema(), markup=False)
        return
    data = specs.load(file).model_dump(exclude_unset=True) if file else {}
    given = {"racks": racks, "name": name, "distribution": distribution, "controllers": controllers, "backend": backend}
    data |= {key: value for key, value in given.items() if value is not None}
    if hosts:
        data["hosts"] = inventory.load(hosts)
    settings = dict(_pair(text, "--set", "min.insync.racks=2") for text in setting or ())
    if settings:
        data["broker"] = data.get("broker", {}) | settings
    if link:
        data["links"] = data.get("links", {}) | dict(_pair(text, "--link", "a-b=2ms") for text in link)
    spec = specs.parse(data)
    if dry_run:
        columns = ("NODE", "RACK", "ROLE", "ID", "ADDRESS", "HEAP")
        nodes = plan(spec).nodes
        out.print(table(columns, [(n.name, n.rack, n.role, n.id, n.endpoint, n.heap) for n in nodes]))
        return
    if monitored:
        monitoring.program(spec)
    progress = ConsoleProgress()
    install([JAVA, *([NETWORKS] if spec.backend == "netns" else [])], progress)
    shared = {key: value for key, value in (spec.settings | spec.broker).items() if key in ONLY_AS_DEFAULT} | settings
    defaults = cluster_defaults(shared, known_settings(find(spec.distribution))) if shared else {}
    try:
        cluster = KafkaCluster.up(spec, seconds=wait, progress=progress)
    except AlreadyUp:
        err.print(f"cluster {spec.name!r} exists already:")
        status = KafkaCluster.open(spec.name).status()
        show(status)
        raise typer.Exit(Exit.OK if status.health == "healthy" else Exit.FAILED) from None
    for key, value in defaults.items():  # a new cluster has some of its own, which win over server.properties
        put(cluster, "", key, value)
    if monitored:
        with progress.step("Prometheus ready"):
            err.print(f"monitoring: {monitoring.start(cluster)}/alerts", markup=False)
    out.print(cluster.bootstrap)
    if cluster.name == specs.parse({}).name:
        err.print(f"next: rackspan status, rackspan stop rack:{cluster.plan.brokers[0].rack}, rackspan down")
    else:
        err.print(f"next: rackspan status {cluster.name}, rackspan down {cluster.name}")


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise usage_error(f"invalid {option} {text}", observed="no KEY=VALUE", do=f"write it as {option} {example}")
    return key.strip(), value.strip()
