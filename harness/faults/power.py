"""A power cut: processes end at once, and what they had written but not flushed is gone.

`kill -9` alone proves little about durability: the operating system still writes what the process had handed to it.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.members import Targets
from harness.cluster.node import KafkaNode
from harness.common.errors import RackspanError
from harness.faults.base import Events, NoEvents, fault
from harness.faults.process import heal, reported
from harness.hosts.host import ProcessState
from harness.recording.log_files import Loss, Tail, loss, recovery_points

CLEAN = ".kafka_cleanshutdown"
POINTS = "recovery-point-offset-checkpoint"


@contextmanager
def power_cut(
    cluster: KafkaCluster,
    targets: Targets,
    *,
    tail: Tail = "none",
    events: Events | None = None,
    name: str = "power_cut",
) -> Iterator[list[str]]:
    """Takes the power from nodes (`rack:a`, names, `leader:orders-0`). Healed: they run and serve again, with what was
    left to them.

    `tail`: what lies behind the flushed part of each log: nothing, half a batch (`torn`), or the length without the
    content (`zeros`). What each log lost is an event `NAME lost`.
    """
    chosen, data = reported(cluster, targets)
    names = [n.name for n in chosen]

    def begin() -> None:
        cluster.kill(names)
        for node in chosen:
            lost = lose_unflushed(node, tail)
            logs = {"node": node.name, "id": node.node.id, "logs": [asdict(cut) for cut in lost.cuts]}
            (events or NoEvents()).event("fault", f"{name} lost", "point", logs)

    with fault(name, begin, lambda: heal(cluster, names), events, data | {"how": "power cut", "tail": tail}):
        yield names


def rack_power_cut(
    cluster: KafkaCluster, rack: str, *, tail: Tail = "none", events: Events | None = None
) -> AbstractContextManager[list[str]]:
    """Cuts the power of all nodes of a rack."""
    return power_cut(cluster, f"rack:{rack}", tail=tail, events=events, name=f"rack_power_cut {rack}")


def lose_unflushed(node: KafkaNode, tail: Tail = "none") -> Loss:
    """Takes from a node that does not run all that it had not flushed, and its mark of a clean shutdown.

    A node that had been shut down cleanly has flushed everything, and loses nothing. A file that was rolled since the
    recovery points were last written (log.flush.offset.checkpoint.interval.ms) counts as not flushed: pessimistic.
    Raises RackspanError if the node runs.
    """
    if node.look()[1] is not ProcessState.GONE:
        raise RackspanError(
            f"cannot take unflushed data from {node.name}", observed=f"it is {node.look()[1].value}", do="kill it first"
        )
    data = shlex.quote(node.data_dir)
    if node.host.shell(f"test -e {data}/{CLEAN}").code == 0:
        return Loss((), (), (), ())
    listed = node.host.shell(f"cd {data} && find . -mindepth 2 -maxdepth 2 -type f -printf '%P\\t%s\\n'").out
    files = {path: int(size) for path, size in (line.rsplit("\t", 1) for line in listed.splitlines())}
    points = recovery_points(node.host.read(f"{node.data_dir}/{POINTS}"))
    with tempfile.TemporaryDirectory(prefix="rackspan-power-") as folder:

        def read(path: str) -> bytes:
            local = Path(folder, "segment")
            node.host.fetch(f"{node.data_dir}/{path}", str(local))
            return local.read_bytes()

        lost = loss(files, points, read, voter=node.node.role == "controller", tail=tail)
    done = node.host.shell(_script(node.data_dir, lost))
    if done.code != 0:
        raise RackspanError(
            f"cannot take unflushed data from {node.name}",
            observed=done.err.strip()[-300:],
            do="see whose files they are",
        )
    return lost


def _script(data_dir: str, lost: Loss) -> str:
    lines = ["set -e", f"cd {shlex.quote(data_dir)}"]
    lines += [f"truncate -s {size} -- {shlex.quote(path)}" for path, size in lost.sizes]
    # Cut off and made long again, a file has zeros there.
    lines += [
        f"truncate -s {begin} -- {shlex.quote(path)}; truncate -s {end} -- {shlex.quote(path)}"
        for path, begin, end in lost.zeroed
    ]
    lines += [f"rm -f -- {shlex.quote(path)}" for path in lost.removed]
    return "\n".join(lines)
