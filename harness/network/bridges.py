"""The network of a cluster: one host a node, one bridge a rack, and this process' own network as the router."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pyroute2 import IPRoute

from harness.network.namespaces import CLONE_NEWNET, become_capable, capable, setns, unshare
from harness.spec.links import bits, interface
from harness.spec.topology import Plan

GATEWAY = 254
_BURST, _QUEUED_MS = 65_536, 200  # bytes that pass at once; how long packets wait before they are lost
_ROOT = 0xFFFFFFFF  # of what shapes an interface
_RTO_MAX = "/proc/sys/net/ipv4/tcp_rto_max_ms"  # since Linux 6.15


def build(plan: Plan) -> dict[str, int]:
    """Moves this thread to a new network, makes bridges there and a network for each node; returns open files of these,
    by node. Raises OSError.

    The router's own address in each rack is the gateway: what is sent from here reaches every host undelayed.
    """
    unshare(CLONE_NEWNET)
    racks = list(plan.spec.racks)
    networks: dict[str, int] = {}
    sysctl("/proc/sys/net/ipv4/ip_forward", "1")
    with IPRoute() as router:
        _up(router, "lo")
        for rack in racks:
            name = interface(racks, rack)
            router.link("add", ifname=name, kind="bridge")
            router.addr("add", index=_index(router, name), address=gateway(plan, rack), prefixlen=24)
            _up(router, name)
        for node in plan.nodes:
            networks[node.name] = new_network()
            cable(router, port_of(plan, node.name), interface(racks, node.rack), networks[node.name])
            with _inside(networks[node.name]):
                _host(node.address, gateway(plan, node.rack))
    return networks


def new_network() -> int:
    """An open file of a network that nothing is in yet. Raises OSError."""
    here = _here()
    try:
        unshare(CLONE_NEWNET)
        network = _here()
        setns(here, CLONE_NEWNET)
    finally:
        os.close(here)
    return network


def cable(router: IPRoute, port: str, bridge: str, network: int) -> None:
    """Joins a network, as its eth0, to a bridge here."""
    router.link("add", ifname=port, kind="veth", peer={"ifname": "eth0", "net_ns_fd": network})
    router.link("set", index=_index(router, port), master=_index(router, bridge), state="up")


def settle() -> None:
    """Gives an ordinary user's process the rights over networks, and one of its own, with loopback only, from which it
    can come and go between clusters of all backends. Raises RackspanError, OSError; does nothing for root.
    """
    if not capable():
        become_capable()
        unshare(CLONE_NEWNET)
        with IPRoute() as own:
            _up(own, "lo")


def gateway(plan: Plan, rack: str) -> str:
    """The router's address in a rack."""
    number = list(plan.spec.racks).index(rack) + 1
    return f"{plan.nodes[0].address.rsplit('.', 2)[0]}.{number}.{GATEWAY}"


def port_of(plan: Plan, name: str) -> str:
    """The end of a node's cable at its rack's bridge."""
    node = plan.node(name)
    return f"{interface(list(plan.spec.racks), node.rack)}.{node.address.rpartition('.')[2]}"


@contextmanager
def _inside(network: int) -> Iterator[None]:
    here = _here()
    setns(network, CLONE_NEWNET)
    try:
        yield
    finally:
        setns(here, CLONE_NEWNET)
        os.close(here)


def _here() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _host(address: str, via: str) -> None:
    """Sets up the network that this thread is in as a host's."""
    with suppress(FileNotFoundError):
        sysctl(_RTO_MAX, "1000")  # else a connection tries again only long after a cut has healed
    with IPRoute() as host:
        _up(host, "lo")
        host.addr("add", index=_index(host, "eth0"), address=address, prefixlen=24)
        _up(host, "eth0")
        host.route("add", dst="default", gateway=via)


def _up(routes: IPRoute, name: str) -> None:
    routes.link("set", index=_index(routes, name), state="up")


def _index(routes: IPRoute, name: str) -> int:
    return int(routes.link_lookup(ifname=name)[0])


def sysctl(path: str, value: str) -> None:
    """Sets a value of this thread's network. Raises OSError."""
    Path(path).write_text(value)


def set_connected(plan: Plan, disconnected: set[str]) -> None:
    """Takes the cables of these nodes out of their racks' bridges and puts all others in. Raises OSError."""
    with IPRoute() as router:
        for node in plan.nodes:
            state = "down" if node.name in disconnected else "up"
            router.link("set", index=_index(router, port_of(plan, node.name)), state=state)


def shape(plan: Plan, networks: Mapping[str, int], narrow: Mapping[str, str]) -> None:
    """Limits the cables of these nodes to a bandwidth each way, and no others. Raises OSError."""
    for node in plan.nodes:
        rate = bits(narrow[node.name]) if node.name in narrow else None
        with IPRoute() as router:
            _limit(router, port_of(plan, node.name), rate)
        with _inside(networks[node.name]), IPRoute() as host:
            _limit(host, "eth0", rate)


def _limit(routes: IPRoute, name: str, rate: int | None) -> None:
    """Limits the rate of what leaves an interface; None: no limit."""
    index = _index(routes, name)
    there = [q for q in routes.get_qdiscs(index=index) if q.get_attr("TCA_KIND") == "tbf"]
    if rate is not None:
        latency = f"{_QUEUED_MS}ms"
        routes.tc("replace", "tbf", index, 0x10000, rate=f"{rate}bit", latency=latency, burst=_BURST)
    elif there:
        routes.tc("del", index=index, parent=_ROOT)
