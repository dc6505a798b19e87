"""The network of a cluster: one host a node, one bridge a rack, and this process' own network as the router."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pyroute2 import IPRoute

from harness.net.links import interface
from harness.net.namespaces import CLONE_NEWNET, setns, unshare
from harness.topology import Plan

GATEWAY = 254
_RTO_MAX = "/proc/sys/net/ipv4/tcp_rto_max_ms"  # since Linux 6.15


def build(plan: Plan) -> dict[str, int]:
    """Makes bridges here and a network for each node; returns open files of these, by node. Raises OSError.

    The router's own address in each rack is the gateway: what is sent from here reaches every host undelayed.
    """
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    racks = list(plan.spec.racks)
    networks: dict[str, int] = {}
    _sysctl("/proc/sys/net/ipv4/ip_forward", "1")
    with IPRoute() as router:
        _up(router, "lo")
        for rack in racks:
            name = interface(racks, rack)
            router.link("add", ifname=name, kind="bridge")
            router.addr("add", index=_index(router, name), address=gateway(plan, rack), prefixlen=24)
            _up(router, name)
        for node in plan.nodes:
            unshare(CLONE_NEWNET)
            networks[node.name] = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            setns(here, CLONE_NEWNET)
            port = port_of(plan, node.name)
            bridge = _index(router, interface(racks, node.rack))
            router.link("add", ifname=port, kind="veth", peer={"ifname": "eth0", "net_ns_fd": networks[node.name]})
            router.link("set", index=_index(router, port), master=bridge, state="up")
            setns(networks[node.name], CLONE_NEWNET)
            _host(node.address, gateway(plan, node.rack))
            setns(here, CLONE_NEWNET)
    return networks


def gateway(plan: Plan, rack: str) -> str:
    """The router's address in a rack."""
    number = list(plan.spec.racks).index(rack) + 1
    return f"{plan.nodes[0].address.rsplit('.', 2)[0]}.{number}.{GATEWAY}"


def port_of(plan: Plan, name: str) -> str:
    """The end of a node's cable at its rack's bridge."""
    node = plan.node(name)
    return f"{interface(list(plan.spec.racks), node.rack)}.{node.address.rpartition('.')[2]}"


def _host(address: str, via: str) -> None:
    """Sets up the network that this thread is in as a host's."""
    with suppress(FileNotFoundError):
        _sysctl(_RTO_MAX, "1000")  # else a connection tries again only long after a cut has healed
    with IPRoute() as host:
        _up(host, "lo")
        host.addr("add", index=_index(host, "eth0"), address=address, prefixlen=24)
        _up(host, "eth0")
        host.route("add", dst="default", gateway=via)


def _up(routes: IPRoute, name: str) -> None:
    routes.link("set", index=_index(routes, name), state="up")


def _index(routes: IPRoute, name: str) -> int:
    return int(routes.link_lookup(ifname=name)[0])


def _sysctl(path: str, value: str) -> None:
    Path(path).write_text(value)


def plug(plan: Plan, unplugged: set[str]) -> None:
    """Takes the cables of these nodes out of their racks' bridges and puts all others in. Raises OSError."""
    with IPRoute() as router:
        for node in plan.nodes:
            state = "down" if node.name in unplugged else "up"
            router.link("set", index=_index(router, port_of(plan, node.name)), state=state)
