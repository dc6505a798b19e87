"""`rackspan fault`: what is broken on purpose, observed and ended: network, power, disks, moves, settings."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.options import ClusterOption, FormatOption, TargetsArgument, chosen
from harness.cli.output import Format, data, err, out, table
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import usage_error
from harness.faults.disk import fill, wait_ended
from harness.faults.healing import active, apart, heal_all
from harness.faults.network import cut_by_host
from harness.faults.partitions import moved_leaders, moved_replicas
from harness.faults.power import lose_unflushed
from harness.faults.rolling import rolling_restart
from harness.faults.settings import changed_setting
from harness.network.link_controller import LinkMeasurement, Links
from harness.recording.log_files import Tail

fault = typer.Typer(
    help="Break things on purpose, see what is broken, and heal it. Not on local: cuts. On netns only: delays.",
    no_args_is_help=True,
)

RacksArgument = Annotated[str, typer.Argument(help="Two racks, as a,b.")]
TopicArgument = Annotated[str, typer.Argument(help="A topic.")]


@fault.command("cut")
def cut(
    racks: Annotated[str, typer.Argument(help="A rack, cut off from all others, or two racks, as a,b.")],
    one_way: Annotated[bool, typer.Option("--one-way", help="Only what goes from the first to the other.")] = False,
    gap: Annotated[str, typer.Option(help="Host by host with this time between two, as 500ms: a rack from all.")] = "",
    cluster: ClusterOption = None,
) -> None:
    """Let nothing pass between racks any more; clients of this machine reach all of them still."""
    rack, _, other = racks.partition(",")
    here = chosen(cluster)
    links = here.links
    if gap:
        if other or one_way:
            raise usage_error(
                f"cannot cut {racks} host by host", observed="a pair or one way", do="name one rack, without --one-way"
            )
        cut_by_host(here, rack, gap)
        _show(links)
        return
    links.cut(rack, other or None, one_way=one_way)
    _show(links)


@fault.command("delay")
def delay(
    racks: RacksArgument,
    rtt: Annotated[str, typer.Argument(help="Round-trip time, as 20ms.")],
    jitter: Annotated[str, typer.Option(help="By how much round trips vary, as 1ms.")] = "0ms",
    loss: Annotated[str, typer.Option(help="Share of packets lost each way, as 1%.")] = "0%",
    cluster: ClusterOption = None,
) -> None:
    """Change the round-trip time between two racks."""
    links = chosen(cluster).links
    links.set_delay(*_pair(racks), rtt, jitter=jitter, loss=loss)
    _show(links)


@fault.command("loss")
def loss(
    racks: RacksArgument,
    share: Annotated[str, typer.Argument(help="Of the packets, each way, as 5%.")],
    cluster: ClusterOption = None,
) -> None:
    """Change the share of packets lost between two racks."""
    links = chosen(cluster).links
    links.set_loss(*_pair(racks), share)
    _show(links)


@fault.command("slow")
def slow(
    targets: TargetsArgument,
    by: Annotated[str, typer.Option(help="How much longer round trips to other racks and to clients take.")] = "",
    bandwidth: Annotated[str, typer.Option(help="The most that passes each way, as 10mbit.")] = "",
    cluster: ClusterOption = None,
) -> None:
    """Make nodes slow to reach: round trips 100ms longer, unless said otherwise."""
    here = chosen(cluster)
    links = here.links
    for node in here.select(targets):
        if bandwidth:
            links.limit_bandwidth(node.name, bandwidth)
        if by or not bandwidth:
            links.slow(node.name, by or "100ms")
    _show_active(here)


@fault.command("disconnect")
def disconnect(targets: TargetsArgument, cluster: ClusterOption = None) -> None:
    """Take nodes off the network; their processes run on."""
    here = chosen(cluster)
    for node in here.select(targets):
        here.links.disconnect(node.name)
    _show(here.links)


@fault.command("power-cut")
def power_cut(
    targets: TargetsArgument,
    tail: Annotated[Tail, typer.Option(help="What is left behind the flushed part of a log.")] = "none",
    cluster: ClusterOption = None,
) -> None:
    """Kill nodes and take from them all that they had not flushed; `rackspan start` brings them back (any backend)."""
    here = chosen(cluster)
    nodes = here.select(targets)
    here.kill([n.name for n in nodes])
    lost = {n.name: lose_unflushed(n, tail) for n in nodes}
    rows = [(name, f"{c.topic}-{c.partition}", c.flushed, c.end) for name, loss in lost.items() for c in loss.cuts]
    out.print(table(("NODE", "LOG", "FLUSHED UP TO", "HAD"), rows))


@fault.command("disk-full")
def disk_full(targets: TargetsArgument, cluster: ClusterOption = None) -> None:
    """Let no file of nodes get longer: brokers end by themselves, as with a full disk (any backend)."""
    here = chosen(cluster)
    nodes = here.select(targets)
    fill(nodes)
    wait_ended(nodes)
    out.print(table(("NODE", "STATE"), [(n, state) for n, state in here.node_states(n.name for n in nodes).items()]))


@fault.command("roll")
def roll(
    targets: TargetsArgument,
    unclean: Annotated[
        bool, typer.Option("--unclean", help="By kill -9, the next one as soon as the last one serves.")
    ] = False,
    cluster: ClusterOption = None,
) -> None:
    """Restart nodes one after the other; in order, and the next one when all replicas are in sync."""
    names = rolling_restart(chosen(cluster), targets, how="kill" if unclean else "stop", complete=not unclean)
    out.print(", ".join(names), markup=False)


@fault.command("move-leaders")
def move_leaders(
    topic: TopicArgument,
    to: Annotated[str, typer.Argument(help="A broker, as b1. Default: the next replica of each partition.")] = "",
    cluster: ClusterOption = None,
) -> None:
    """Make other replicas of a topic lead, until healed."""
    here = chosen(cluster)
    moved_leaders(here, topic, to).begin(here)
    _show_active(here)


@fault.command("move-replicas")
def move_replicas(
    topic: TopicArgument,
    rack: Annotated[str, typer.Argument(help="The rack to leave.")],
    cluster: ClusterOption = None,
) -> None:
    """Take a topic's replicas out of a rack, to brokers elsewhere as far as there are any, until healed."""
    here = chosen(cluster)
    moved_replicas(here, topic, rack).begin(here)
    _show_active(here)


@fault.command("set")
def change_setting(
    setting: Annotated[str, typer.Argument(help="As min.insync.replicas=3.")],
    topic: Annotated[str, typer.Option(help="Of this topic. Default: of the complete cluster.")] = "",
    cluster: ClusterOption = None,
) -> None:
    """Give a setting another value, until healed."""
    name, equals, value = setting.partition("=")
    if not equals:
        raise usage_error(
            f"cannot read {setting} as a setting", observed="no =", do="as in rackspan fault set min.insync.replicas=3"
        )
    here = chosen(cluster)
    changed_setting(here, topic, name, value).begin(here)
    _show_active(here)


@fault.command("list")
def show(cluster: ClusterOption = None, output: FormatOption = Format.TABLE) -> None:
    """Show what is broken on purpose, and every link: round-trip time requested and measured, and what is cut."""
    here = chosen(cluster)
    links = here.links if apart(here) else None
    if output is not Format.TABLE:
        found = [{"what": a.what, "since_ns": a.since_ns} for a in active(here)]
        rows = _rows(links) if links else []
        data({"active": found, "links": rows, "disconnected": links.state.disconnected if links else []}, output)
        return
    _show_active(here)
    if links:
        _show(links)


@fault.command("heal")
def heal(cluster: ClusterOption = None) -> None:
    """End every fault: links as the spec says, all nodes run, moved replicas and settings are back."""
    here = chosen(cluster)
    for what in heal_all(here):
        err.print(f"ended: {what}", markup=False)
    if apart(here):
        here.links.check()
    _show_active(here)


def _pair(racks: str) -> tuple[str, str]:
    one, comma, other = racks.partition(",")
    if not comma:
        raise usage_error(
            f"cannot read {racks} as two racks", observed="no comma", do="as in rackspan fault delay a,b 20ms"
        )
    return one, other


def _show_active(cluster: KafkaCluster) -> None:
    found = active(cluster)
    if found:
        out.print(table(("FAULT", "SINCE"), [(a.what, a.since) for a in found]))
    else:
        out.print("no fault is in force")


def _show(links: Links) -> None:
    columns = ("RACKS", "RTT MS", "MEASURED MS", "JITTER", "LOSS", "CUT")
    out.print(table(columns, [list(r.values()) for r in _rows(links)]))
    disconnected = links.state.disconnected
    if disconnected:
        out.print(f"off the network: {', '.join(disconnected)}", markup=False)


def _rows(links: Links) -> list[dict[str, object]]:
    state = links.state
    measured: dict[str, LinkMeasurement] = {observed.racks: observed for observed in links.measure(samples=9)}
    rows: list[dict[str, object]] = []
    for one, other in state.pairs():
        observed = measured.get(f"{one}-{other}")
        cuts = [f"{a} to {b}" for a, b in state.cuts if {a, b} == {one, other}]
        rows.append(
            {
                "racks": f"{one}-{other}",
                "rtt_ms": state.link(one, other).ms,
                "measured_ms": observed.p50_ms if observed else None,
                "jitter": state.link(one, other).jitter,
                "loss": state.link(one, other).loss,
                "cut": ", ".join(cuts),
            }
        )
    return rows
