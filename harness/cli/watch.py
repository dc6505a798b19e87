"""`rackspan status --watch` on a terminal: racks, nodes, topics and faults, live."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from harness.admin.topics import MIN_RACKS
from harness.cli.keys import keys
from harness.cli.node_cells import in_sync, role
from harness.cli.output import out, table
from harness.cluster import cluster_view
from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.rack_span import Span, spans
from harness.cluster.status import ClusterStatus, NodeStatus
from harness.common.errors import RackspanError
from harness.faults.healing import Active, active


@dataclass(frozen=True)
class Snapshot:
    """A cluster at one moment."""

    status: ClusterStatus
    topics: list[Span]
    faults: list[Active]


def interactive() -> bool:
    """True if standard output is a terminal that can be drawn on, and standard input one that has keys."""
    return out.is_terminal and not out.is_dumb_terminal and sys.stdin.isatty()


def look(name: str) -> Snapshot:
    """Takes a snapshot of a cluster. Raises RackspanError if it is gone."""
    cluster = KafkaCluster.open(name)
    status = cluster.status()
    return Snapshot(status, _spans(cluster), active(cluster))


def watch(name: str, every: float, until: Callable[[ClusterStatus], bool]) -> ClusterStatus:
    """Shows the cluster until q or Ctrl-C is pressed, or `until` holds; returns the last status.

    Raises RackspanError if the cluster is removed meanwhile.
    """
    observed = look(name)  # here first: the thread inherits the network that clusters are reached from
    answers: SimpleQueue[Snapshot | RackspanError] = SimpleQueue()
    stopped = threading.Event()
    threading.Thread(target=_looks, args=(name, every, answers, stopped), daemon=True).start()
    try:
        with keys() as pressed, Live(screen(observed), console=out, screen=True, auto_refresh=False) as live:
            live.refresh()
            while not until(observed.status) and "q" not in pressed(0.1).lower():
                try:
                    answer = answers.get_nowait()
                except Empty:
                    continue
                if isinstance(answer, RackspanError):
                    raise answer
                observed = answer
                live.update(screen(observed), refresh=True)
    except KeyboardInterrupt:
        pass  # quits as q does
    finally:
        stopped.set()
    return observed.status


def screen(observed: Snapshot) -> RenderableType:
    """The tables of a snapshot, one below the other."""
    now = observed.status
    health = _word(now.health, now.health == "healthy")
    head = Text.assemble(f"{now.name} ({now.distribution}) is ", health, f"   bootstrap {now.bootstrap}")
    parts: list[RenderableType] = [
        head,
        Text(),
        table(("RACK", "STATE", "NODES", "LEADERS", "IN SYNC"), racks(now.nodes)),
        Text(),
        table(("NODE", "RACK", "ROLE", "STATE", "LEADERS", "IN SYNC"), [_node(n) for n in now.nodes]),
    ]
    if observed.topics:
        columns = ("TOPIC", "PARTITIONS", "OFFLINE", "RACKS IN SYNC", "MIN.INSYNC.RACKS", "REPLICA RACKS")
        parts += [Text(), table(columns, [_topic(s) for s in observed.topics])]
    if observed.faults:
        parts += [Text(), table(("FAULT", "SINCE"), [(f.what, f.since) for f in observed.faults])]
    return Group(*parts, Text(), Text("press q to quit", style="dim"))


def racks(nodes: Sequence[NodeStatus]) -> list[tuple[object, ...]]:
    """A row for each rack: up, down (none of its nodes runs) or degraded; its leaders and its replicas in sync."""
    rows: list[tuple[object, ...]] = []
    for rack in dict.fromkeys(n.rack for n in nodes):
        mine = [n for n in nodes if n.rack == rack]
        serving = sum(n.state == "running" for n in mine)
        state = "up" if serving == len(mine) else "down" if not serving else "degraded"
        known = [n for n in mine if n.replicas is not None]
        synced = f"{sum(n.in_sync or 0 for n in known)}/{sum(n.replicas or 0 for n in known)}" if known else None
        leaders = sum(n.leaders or 0 for n in known) if known else None
        rows.append((rack, _word(state, state == "up"), f"{serving} of {len(mine)}", leaders, synced))
    return rows


def _node(n: NodeStatus) -> tuple[object, ...]:
    return n.node, n.rack, role(n), _word(n.state, n.state == "running"), n.leaders, in_sync(n)


def _topic(s: Span) -> tuple[object, ...]:
    return s.topic, s.partitions, s.leaderless or None, _word(str(s.racks), s.enough), s.requested or None, s.placed


def _word(text: str, good: bool) -> Text:
    return Text(text, style="green" if good else "red")


def _spans(cluster: KafkaCluster) -> list[Span]:
    try:
        view = cluster.view()
    except RackspanError:
        return []
    found = cluster_view.settings(cluster.alive_brokers(), sorted({p.topic for p in view.partitions}), [MIN_RACKS])
    placed = {n.id: n.broker_rack for n in cluster.plan.brokers}
    return spans(view, placed, {topic: int(own[MIN_RACKS]) for topic, own in found.items() if own})


def _looks(name: str, every: float, answers: SimpleQueue[Snapshot | RackspanError], stopped: threading.Event) -> None:
    """Polls in a thread of its own: an answer may take seconds, and keys must not wait for it."""
    while not stopped.wait(every):
        try:
            answers.put(look(name))
        except RackspanError as e:
            answers.put(e)
            return
