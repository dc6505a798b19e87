"""A full disk: from one moment on no file of a node gets longer.

Made with the limit on the size of files that the kernel keeps for each process, so it needs no rights, no file system
of its own and leaves nothing behind: it ends with the process. Every write that would make a file longer fails (`File
too large` where a full disk has `No space left on device`), and Kafka treats both alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.members import Targets
from harness.cluster.node import KafkaNode
from harness.common.errors import RackspanError
from harness.common.wait import Pending, wait_for
from harness.faults.base import Events, NoEvents, fault
from harness.faults.process import heal, reported
from harness.hosts.host import ProcessState


@contextmanager
def disk_full(
    cluster: KafkaCluster, targets: Targets, *, events: Events | None = None, name: str = "disk_full"
) -> Iterator[list[str]]:
    """The disks of nodes are full for the time of a block, which gets their names. Healed: they have room, and serve.

    A node with one data folder gives it up at its next write and ends by itself, as Kafka does when its last log folder
    has failed; that is waited for, and is an event `NAME ended`. Its own logs have nothing of it: they are files too.
    """
    chosen, data = reported(cluster, targets)
    names = [n.name for n in chosen]

    def begin() -> None:
        fill(chosen)
        wait_ended(chosen)
        (events or NoEvents()).event("fault", f"{name} ended", "point", data)

    with fault(name, begin, lambda: give_room(cluster, names), events, data):
        yield names


def fill(nodes: list[KafkaNode]) -> None:
    """Lets no file of these nodes get any longer. Raises RackspanError if one does not run."""
    for n in nodes:
        _limit(n, "0:")


def wait_ended(nodes: list[KafkaNode], seconds: float = 60.0) -> None:
    """Waits until the nodes have noticed. Raises WaitTimeout."""

    def ended() -> bool | Pending:
        left = [n.name for n in nodes if n.look()[1] is not ProcessState.GONE]
        return Pending(f"{', '.join(left)} runs on") if left else True

    wait_for("the nodes to end for want of disk", ended, seconds)


def give_room(cluster: KafkaCluster, targets: Targets) -> None:
    """Lets files grow again, and starts the nodes that have ended. Raises RackspanError."""
    for n in cluster.select(targets):
        if n.look()[1] is not ProcessState.GONE:
            _limit(n, "unlimited:")
    heal(cluster, targets)


def _limit(node: KafkaNode, size: str) -> None:
    """Sets the limit that can be taken back (the soft one)."""
    process, state = node.look()
    if process is None or state is ProcessState.GONE:
        raise RackspanError(
            f"cannot fill the disk of {node.name}",
            observed="it is not running",
            do=f"start it with `rackspan start {node.name}`",
        )
    node.host.run(["prlimit", "--pid", str(process.pid), f"--fsize={size}"])
