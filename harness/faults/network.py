"""Faults of the network between racks: cuts, delays, a host off the network. Need a backend that can do them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import usage_error
from harness.common.wait import pause
from harness.faults.base import Events, fault
from harness.faults.process import reported
from harness.spec.links import milliseconds


def cut(
    cluster: KafkaCluster, rack: str, other: str | None = None, *, one_way: bool = False, events: Events | None = None
) -> AbstractContextManager[None]:
    """Nothing passes between a rack and another one, or all others (`one_way`: nothing from it to them) for the time of
    a `with` block. Its nodes run on, and clients at the driver reach them still.
    """
    links = cluster.links
    name = f"cut {rack}" if other is None else f"cut {rack}-{other}"
    data = {"rack": rack, "other": other or "", "one_way": one_way}
    return fault(
        name, lambda: links.cut(rack, other, one_way=one_way), lambda: links.heal_cut(rack, other), events, data
    )


def staggered_cut(
    cluster: KafkaCluster, rack: str, *, gap: str = "500ms", events: Events | None = None
) -> AbstractContextManager[None]:
    """A rack is cut off from all others host by host, with a gap between two, and is back at one moment."""
    links = cluster.links
    chosen, data = reported(cluster, f"rack:{rack}")

    def heal() -> None:
        for node in chosen:
            links.rejoin(node.name)

    return fault(f"staggered_cut {rack}", lambda: cut_by_host(cluster, rack, gap), heal, events, data | {"gap": gap})


def cut_by_host(cluster: KafkaCluster, rack: str, gap: str) -> None:
    """Cuts the hosts of a rack off, one after the other. Raises RackspanError."""
    try:
        seconds = milliseconds(gap) / 1000
    except ValueError as e:
        raise usage_error(f"cannot cut rack {rack} host by host", observed=str(e), do="give the gap as 500ms") from e
    for place, node in enumerate(cluster.select(f"rack:{rack}")):
        if place:
            pause(seconds)
        cluster.links.isolate(node.name)


def slowed(cluster: KafkaCluster, node: str, rtt: str, *, events: Events | None = None) -> AbstractContextManager[str]:
    """Round trips to a node from other racks, and from clients, take that much longer for the time of a block, which
    gets its name.
    """
    links = cluster.links
    return _of_node("slowed", cluster, node, lambda n: links.slow(n, rtt), links.unslow, events, {"rtt": rtt})


def bandwidth_limited(
    cluster: KafkaCluster, node: str, bandwidth: str, *, events: Events | None = None
) -> AbstractContextManager[str]:
    """No more than that, as "10mbit", passes to a node and as much from it for the time of a block, which gets its
    name.
    """
    links, more = cluster.links, {"bandwidth": bandwidth}
    return _of_node(
        "bandwidth_limited",
        cluster,
        node,
        lambda n: links.limit_bandwidth(n, bandwidth),
        links.unlimit_bandwidth,
        events,
        more,
    )


def delay(
    cluster: KafkaCluster,
    one: str,
    other: str,
    rtt: str,
    *,
    jitter: str = "0ms",
    loss: str = "0%",
    events: Events | None = None,
) -> AbstractContextManager[None]:
    """Another round-trip time between two racks for the time of a `with` block; then again what the spec says."""
    links = cluster.links
    data = {"racks": [one, other], "rtt": rtt, "jitter": jitter, "loss": loss}
    return fault(
        f"delay {one}-{other}",
        lambda: links.set_delay(one, other, rtt, jitter=jitter, loss=loss),
        lambda: links.restore_delay(one, other),
        events,
        data,
    )


def disconnected(cluster: KafkaCluster, node: str, *, events: Events | None = None) -> AbstractContextManager[str]:
    """A node is off the network, also for clients, for the time of a `with` block, which gets its name; its process
    runs on.
    """
    links = cluster.links
    return _of_node("disconnected", cluster, node, links.disconnect, links.connect, events, {})


@contextmanager
def _of_node(
    what: str,
    cluster: KafkaCluster,
    node: str,
    begin: Callable[[str], None],
    heal: Callable[[str], None],
    events: Events | None,
    more: dict[str, str],
) -> Iterator[str]:
    """A fault of one node, which may be named by its role: what it is now is what is broken, and healed."""
    (chosen,), data = reported(cluster, node)
    name = chosen.name
    with fault(f"{what} {node}", lambda: begin(name), lambda: heal(name), events, data | more):
        yield name
