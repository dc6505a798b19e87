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
    """Whether somebody sits at both ends: a screen that can be drawn on, and keys."""
    return out.is_terminal and not out.is_dumb_terminal and sys.stdin.isatty()


def look(name: str) -> Snapshot:
    """The cluster of that name now. Raises RackspanError if there is none any more."""
    cluster = KafkaCluster.open(name)
    status = cluster.status()
    return Snapshot(status, _spans(cluster), active(cluster))


def watch(name: str, every: float, until: Callable[[ClusterStatus], bool]) -> ClusterStatus:
    """Shows the cluster until q or Ctrl-C is pressed, or `until` holds; returns what was observed last.

    Raises RackspanError if the cluster is removed meanwhile.
    """
    observed = look(name)  # here first: from here the thread inherits where clusters can be reached
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
        pass  # the other way to leave
    finally:
        stopped.set()
    return observed.status


def screen(observed: Snapshot) -> RenderableType:
    """All that is shown."""
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
        columns = ("TOPIC", "PARTITIONS", "WITHOUT LEADER", "RACKS IN SYNC", "ASKED", "PLACED IN")
        parts += [Text(), table(columns, [_topic(s) for s in observed.topics])]
    if observed.faults:
        parts += [Text(), table(("FAULT", "SINCE"), [(f.what, f.since) for f in observed.faults])]
    return Group(*parts, Text(), Text("q ends", style="dim"))


def racks(nodes: Sequence[NodeStatus]) -> list[tuple[object, ...]]:
    """A row a rack: up, down (nothing of it serves) or partly; its leaders and its replicas in sync."""
    rows: list[tuple[object, ...]] = []
    for rack in dict.fromkeys(n.rack for n in nodes):
        mine = [n for n in nodes if n.rack == rack]
        serving = sum(n.state == "running" for n in mine)
        state = "up" if serving == len(mine) else "down" if not serving else "partly"
        known = [n for n in mine if n.replicas is not None]
        in_sync = f"{sum(n.in_sync or 0 for n in known)}/{sum(n.replicas or 0 for n in known)}" if known else None
        leaders = sum(n.leaders or 0 for n in known) if known else None
        rows.append((rack, _word(state, state == "up"), f"{serving} of {len(mine)}", leaders, in_sync))
    return rows


def _node(n: NodeStatus) -> tuple[object, ...]:
    in_sync = None if n.replicas is None else f"{n.in_sync}/{n.replicas}"
    role = "controller (leader)" if n.leads_quorum else n.role
    return n.node, n.rack, role, _word(n.state, n.state == "running"), n.leaders, in_sync


def _topic(s: Span) -> tuple[object, ...]:
    return s.topic, s.partitions, s.leaderless or None, _word(str(s.racks), s.enough), s.requested or None, s.placed


def _word(text: str, good: bool) -> Text:
    return Text(text, style="green" if good else "red")


def _spans(cluster: KafkaCluster) -> list[Span]:
    try:
        view = cluster.view()
    except RackspanError:
        return []
    found = cluster_view.settings(cluster.alive_brokers(), sorted({p.topic for p in view.partitions}), MIN_RACKS)
    placed = {n.id: n.broker_rack for n in cluster.plan.brokers}
    return spans(view, placed, {topic: int(value) for topic, value in found.items()})


def _looks(name: str, every: float, answers: SimpleQueue[Snapshot | RackspanError], stopped: threading.Event) -> None:
    """Looks again and again: an answer may take seconds, and keys must not wait for it."""
    while not stopped.wait(every):
        try:
            answers.put(look(name))
        except RackspanError as e:
            answers.put(e)
            return
