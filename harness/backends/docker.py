"""Backend `docker`: every node is a container with a fixed address, every rack a network. Needs an engine whose
networks this machine reaches: one that runs on it, on Linux.

The engine holds the state: what belongs to a cluster has its folder as a label. A node's folder is this machine's.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.backends.base import Backend
from harness.backends.local import MARKER, LocalHost
from harness.backends.remote import RemoteHost
from harness.common.atomic_files import write_aside
from harness.common.errors import RackspanError, environment_error
from harness.common.progress import Progress
from harness.distribution import container_image
from harness.distribution.locate import Distribution, find
from harness.hosts.host import Capability, Host, Output, Process, last_lines
from harness.network import blackhole_routes
from harness.network.link_controller import Links
from harness.network.namespaces import leave_network
from harness.spec.links import LinkState
from harness.spec.topology import Node, Plan

LABEL = "rackspan.cluster"  # of containers and networks: the cluster's folder
GATEWAY = 254  # this machine's own address in a network ends so
MADE = "docker"  # in the cluster's folder: the engine was asked to make something
# The first process of a container takes in orphans, and lives as long as the container is wanted.
FIRST = ["bash", "-c", "trap exit TERM; while :; do sleep infinity & wait $!; done"]
ENGINE_GONE = ("Error response from daemon", "Error: No such container", "Cannot connect", "error during connect")


def engine() -> Any:
    """The engine that the environment names. Raises RackspanError (exit code 4)."""
    import docker.errors  # here, as every command would wait for it

    try:
        found = docker.from_env()
        found.ping()
    except docker.errors.DockerException as e:
        raise environment_error(
            "no docker engine found",
            observed=" ".join(str(e).split())[:200],
            do="start one, or name it in DOCKER_HOST; see `rackspan doctor`",
        ) from None
    if shutil.which("docker") is None:
        raise environment_error(
            "the backend docker needs the docker command", observed="no docker on PATH", do="install docker's client"
        )
    return found


class DockerHost(RemoteHost):
    """One container. What is below `root` is this machine's as well, and read without asking the engine."""

    def __init__(self, name: str, address: str, root: str, container: str, rights: Sequence[str] = ()) -> None:
        self.name = name
        self.address = address
        self.root = root
        self.container = container
        self.rights = rights
        self._files = LocalHost(name, address, root)

    def inside(self, script: str, seconds: float | None = None, *, terminal: bool = False) -> list[str]:
        typed = ["-t"] if terminal and sys.stdin is not None and sys.stdin.isatty() else []
        limit = ["timeout", "-s", "KILL", f"{seconds + 2:.0f}"] if seconds is not None else []
        return ["docker", "exec", "-i", *typed, *self.rights, self.container, *limit, "bash", "-c", script]

    def read(self, path: str) -> str:
        return self._files.read(path) if path.startswith(f"{self.root}/") else super().read(path)

    def rest(self, path: str, offset: int) -> tuple[int, bytes]:
        return self._files.rest(path, offset) if path.startswith(f"{self.root}/") else super().rest(path, offset)

    def write(self, path: str, text: str) -> None:
        if path.startswith(f"{self.root}/"):
            self._files.write(path, text)
        else:
            super().write(path, text)

    def fetch(self, path: str, local: str) -> None:
        if path.startswith(f"{self.root}/"):
            self._files.fetch(path, local)
        else:
            super().fetch(path, local)

    def check(self, done: Output) -> None:
        if done.code != 0 and done.err.startswith(ENGINE_GONE):
            raise RackspanError(
                f"the container of {self.name} does not answer",
                observed=last_lines(done.err),
                do="bring it back with `rackspan start all`, or remove the cluster with `rackspan down`",
            )


class DockerBackend(Backend):
    """Containers on networks of the cluster's own, which can be cut: each container has routes of its own."""

    name = "docker"
    capabilities = frozenset({Capability.CUT})

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def at(cls, folder: Path) -> DockerBackend:
        return cls(folder)

    def host(self, node: Node, root: str) -> Host:
        return DockerHost(node.name, node.address, root, self._container(node.name))

    def prepare(self) -> None:
        leave_network()
        engine().close()

    def enter(self) -> None:
        leave_network()

    def bring_up(self, plan: Plan) -> None:
        """Makes the networks and containers that are not there, and starts those that do not run. Raises
        RackspanError.
        """
        self.enter()
        found = engine()
        write_aside(self.folder / MADE, "")
        networks = {rack: self._network(found, plan, rack) for rack in dict.fromkeys(n.rack for n in plan.nodes)}
        for node in plan.nodes:
            self._start(found, plan, node, networks)
        if any(self.faults(plan)):  # a container that was started again has forgotten its routes
            self._enforce(plan, self.links(plan).state)

    def is_up(self) -> bool:
        return all(c.status == "running" for c in self._mine(engine().containers)) and (self.folder / MADE).exists()

    def install(self, wanted: Mapping[str, Distribution]) -> None:
        """Nothing: a node's image has it."""

    def placed(self, node: str, distribution: Distribution) -> Distribution:
        return Distribution(container_image.KAFKA)

    def leftovers(self, marker: str) -> list[tuple[Host, Process]]:
        found: list[tuple[Host, Process]] = []
        for container in self._mine(engine().containers, running=True):
            host = DockerHost(container.name, "", str(self.folder), container.name)
            found += [(host, process) for process in host.marked(MARKER, marker)]
        return found

    def faults(self, plan: Plan) -> list[str]:
        return self.links(plan).faults()

    def links(self, plan: Plan) -> Links:
        def enforce(state: LinkState) -> None:
            self._enforce(plan, state)

        return Links(self.folder, plan, self, lambda node: self.host(node, str(self.folder / node.name)), enforce)

    def take_down(self) -> None:
        """Removes containers and networks of the cluster; none there is success."""
        if not (self.folder / MADE).exists():
            return
        found = engine()
        for container in self._mine(found.containers):
            container.remove(force=True, v=True)
        for network in found.networks.list(filters={"label": f"{LABEL}={self.folder}"}):
            network.remove()
        (self.folder / MADE).unlink()

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _enforce(self, plan: Plan, state: LinkState) -> None:
        """Gives every container that runs the routes that the cuts require. Raises RackspanError."""
        addresses: dict[str, list[str]] = {n.name: [n.address] for n in plan.nodes}
        running = {}
        for container in self._mine(engine().containers, running=True):
            name = container.name.removeprefix(self._container(""))
            running[name] = DockerHost(name, "", str(self.folder), container.name, ("-u", "0"))
            feet = container.attrs["NetworkSettings"]["Networks"].values()
            addresses[name] = [foot["IPAddress"] for foot in feet if foot["IPAddress"]]
        drivers = {f"{n.address.rpartition('.')[0]}.{GATEWAY}" for n in plan.nodes}
        wanted = blackhole_routes.isolated(state, plan, addresses, drivers)
        there = {name: some for name, some in wanted.items() if name in running}
        blackhole_routes.enforce(there, lambda name, script: running[name].shell(script))

    def _mine(self, containers: Any, *, running: bool = False) -> list[Any]:
        return list(containers.list(all=not running, filters={"label": f"{LABEL}={self.folder}"}))

    def _container(self, name: str) -> str:
        return f"rackspan-{self.folder.name}-{name}"

    def _network(self, found: Any, plan: Plan, rack: str) -> Any:
        """A rack's network: nodes have fixed addresses in its lower half, other racks' nodes some in its upper half."""
        from docker.errors import APIError
        from docker.types import IPAMConfig, IPAMPool

        name = self._container(f"rack-{rack}")
        there = found.networks.list(names=[name], filters={"label": f"{LABEL}={self.folder}"})
        if there:
            return there[0]
        net = next(n.address for n in plan.nodes if n.rack == rack).rpartition(".")[0]
        pool = IPAMPool(subnet=f"{net}.0/24", iprange=f"{net}.128/26", gateway=f"{net}.{GATEWAY}")
        try:
            return found.networks.create(
                name, driver="bridge", ipam=IPAMConfig(pool_configs=[pool]), labels={LABEL: str(self.folder)}
            )
        except APIError as e:
            raise RackspanError(
                f"cannot make the network of rack {rack}",
                observed=" ".join(str(e.explanation or e).split()),
                do=f"end what uses {net}.0/24; see `docker network ls`",
            ) from e

    def _start(self, found: Any, plan: Plan, node: Node, networks: dict[str, Any]) -> None:
        """A node's container. It has a foot in every rack's network, since engines keep networks apart."""
        there = found.containers.list(all=True, filters={"label": f"{LABEL}={self.folder}", "name": f"-{node.name}$"})
        if there:
            there[0].start()
            return
        override = plan.spec.nodes.get(node.name)
        own = find((override.distribution if override else None) or plan.spec.distribution)
        root = self.folder / node.name
        root.mkdir(parents=True, exist_ok=True)
        home = networks[node.rack]
        endpoint = found.api.create_endpoint_config(ipv4_address=node.address)
        container = found.containers.create(
            container_image.make(found, own, Progress()),
            entrypoint=FIRST,
            healthcheck={"test": ["NONE"]},
            name=self._container(node.name),
            hostname=node.name,
            labels={LABEL: str(self.folder)},
            cap_add=["NET_ADMIN"],  # over its own network, and only for root, who runs nothing there but cuts
            user=f"{os.getuid()}:{os.getgid()}",
            volumes={str(root): {"bind": str(root), "mode": "rw"}},
            network=home.name,
            networking_config={home.name: endpoint},
        )
        for rack, network in networks.items():
            if rack != node.rack:
                network.connect(container)
        container.start()
