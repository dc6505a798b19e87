"""Faults of the network between racks: cuts, delays, a host off the network. Need a back end that can do them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from harness.cluster import KafkaCluster
from harness.faults.base import Events, fault
from harness.faults.process import told


def cut(
    cluster: KafkaCluster, rack: str, other: str | None = None, *, one_way: bool = False, events: Events | None = None
) -> AbstractContextManager[None]:
    """Nothing passes between a rack and another one, or all others (`one_way`: nothing from it to them) for the time of
    a `with` block. Its nodes run on, and clients at the driver reach them still.
    """
    links = cluster.links
    name = f"cut {rack}" if other is None else f"cut {rack}-{other}"
    data = {"rack": rack, "other": other or "", "one_way": one_way}
    return fault(name, lambda: links.cut(rack, other, one_way=one_way), lambda: links.mend(rack, other), events, data)


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


@contextmanager
def unplugged(cluster: KafkaCluster, node: str, *, events: Events | None = None) -> Iterator[str]:
    """A node is off the network, also for clients, for the time of a `with` block, which gets its name; its process
    runs on.
    """
    links = cluster.links
    (chosen,), data = told(cluster, node)
    name = chosen.name
    with fault(f"unplugged {node}", lambda: links.unplug(name), lambda: links.plug(name), events, data):
        yield name
