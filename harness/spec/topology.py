"""From a spec to the nodes of a cluster: pure, nothing is started here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle, islice

from harness.common.errors import usage_error
from harness.common.paths import BLOCKS
from harness.spec.cluster_spec import DOCKER_RACKS, ClusterSpec, NodeOverride
from harness.spec.inventory import assign
from harness.spec.node_names import broker_name, controller_name

BROKER_PORT = 9092
CONTROLLER_PORT = 9093
SECURE_PORT = 9094
METRICS_PORT = 9404
FIRST_BLOCK = BLOCKS.start
FIRST_CONTROLLER = 101  # also the last octet of a controller's address, above every broker's


@dataclass(frozen=True)
class Node:
    """One Kafka process.

    `rack` is where it is placed and fails with, `broker_rack` what it reports Kafka ("" = nothing).
    """

    id: int
    name: str
    role: str  # "broker" or "controller"
    rack: str
    broker_rack: str
    address: str
    port: int
    metrics_port: int
    heap: str

    @property
    def endpoint(self) -> str:
        """address:port of the node's listener."""
        return f"{self.address}:{self.port}"


@dataclass(frozen=True)
class Plan:
    """All nodes of a cluster, brokers first."""

    spec: ClusterSpec
    nodes: tuple[Node, ...]

    @property
    def brokers(self) -> tuple[Node, ...]:
        return tuple(n for n in self.nodes if n.role == "broker")

    @property
    def controllers(self) -> tuple[Node, ...]:
        return tuple(n for n in self.nodes if n.role == "controller")

    @property
    def bootstrap(self) -> str:
        """Bootstrap servers: every broker, comma-separated."""
        return ",".join(n.endpoint for n in self.brokers)

    @property
    def secure_bootstrap(self) -> str:
        """Bootstrap servers over SASL_SSL, where the spec has users."""
        return ",".join(f"{n.address}:{SECURE_PORT}" for n in self.brokers)

    @property
    def listeners(self) -> list[tuple[str, int]]:
        """Every address and port that will be listened on."""
        secure = [(n.address, SECURE_PORT) for n in self.brokers if self.spec.users]
        return [(n.address, port) for n in self.nodes for port in (n.port, n.metrics_port)] + secure

    @property
    def voters(self) -> str:
        """The value of controller.quorum.voters."""
        return ",".join(f"{n.id}@{n.endpoint}" for n in self.controllers)

    def node(self, name: str) -> Node:
        """The node of that name. Raises RackspanError (exit code 2)."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise usage_error(
            f"node {name!r} not found",
            observed=f"nodes: {', '.join(n.name for n in self.nodes)}",
            do="name one of them, or a rack as in rack:a",
        )

    def select(self, targets: str | Iterable[str]) -> tuple[Node, ...]:
        """The nodes that targets name (`a1`, `rack:a`, `brokers`, `controllers`, `all`), in plan order.

        Raises RackspanError (exit code 2).
        """
        names = [targets] if isinstance(targets, str) else list(targets)
        chosen = {node.name for target in names for node in self._one(target)}
        return tuple(n for n in self.nodes if n.name in chosen)

    def _one(self, target: str) -> tuple[Node, ...]:
        groups = {"all": self.nodes, "brokers": self.brokers, "controllers": self.controllers}
        if target in groups:
            return groups[target]
        if not target.startswith("rack:"):
            return (self.node(target),)
        rack = target.removeprefix("rack:")
        found = tuple(n for n in self.nodes if n.rack == rack)
        if not found:
            raise usage_error(
                f"rack {rack!r} not found",
                observed=f"racks: {', '.join(dict.fromkeys(n.rack for n in self.nodes))}",
                do="name one of them, as in rack:a",
            )
        return found


def plan(spec: ClusterSpec, block: int = FIRST_BLOCK) -> Plan:
    """Lays a spec out on addresses NET.RACK.N; controllers are dealt over the racks in turn.

    NET is 127.BLOCK, or 198.18 in networks of the cluster's own (a range that is set apart for tests). Machines that
    are there already keep their addresses; a controller may share one with a broker.
    """
    machines = assign(spec.racks, spec.controllers, spec.hosts) if spec.backend == "ssh" else {}
    nodes: list[Node] = []
    nets = {rack: _net(spec.backend, block, number) for number, rack in enumerate(spec.racks, start=1)}
    for rack, count in spec.racks.items():
        for n in range(1, count + 1):
            name = broker_name(rack, n)
            override = spec.nodes.get(name, NodeOverride())  # type: ignore[call-arg]
            nodes.append(
                Node(
                    id=len(nodes) + 1,
                    name=name,
                    role="broker",
                    rack=rack,
                    broker_rack=rack if override.rack is None else override.rack,
                    address=machines[name].address if machines else f"{nets[rack]}.{n}",
                    port=BROKER_PORT,
                    metrics_port=METRICS_PORT,
                    heap=override.heap or spec.heap.broker,
                )
            )
    first = max(FIRST_CONTROLLER, len(nodes) + 1)
    for number, rack in enumerate(islice(cycle(spec.racks), spec.controllers)):
        name = controller_name(number + 1)
        override = spec.nodes.get(name, NodeOverride())  # type: ignore[call-arg]
        own = f"{nets[rack]}.{FIRST_CONTROLLER + number // len(spec.racks)}"
        nodes.append(
            Node(
                id=first + number,
                name=name,
                role="controller",
                rack=rack,
                broker_rack="",
                address=machines[name].address if machines else own,
                port=CONTROLLER_PORT,
                metrics_port=METRICS_PORT + 1 if machines else METRICS_PORT,
                heap=override.heap or spec.heap.controller,
            )
        )
    return Plan(spec, tuple(nodes))


def _net(backend: str, block: int, rack: int) -> str:
    """The first three parts of the addresses in the rack of that number."""
    if backend == "docker":  # clusters share an engine's network
        number = (block - FIRST_BLOCK) * DOCKER_RACKS + rack
        return f"198.{18 + number // 256}.{number % 256}"
    return f"198.18.{rack}" if backend == "netns" else f"127.{block}.{rack}"
