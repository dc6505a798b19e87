"""`rackspan fault`: injects, lists and heals faults of the network, power, disks, partitions and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from harness.cli import help_format
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
from harness.network.link_controller import Links
from harness.network.link_measurement import LinkMeasurement
from harness.recording.log_files import Tail

_Verb = TypeVar("_Verb", bound=Callable[..., Any])

NETWORK = "Network"
MACHINES = "Power, disks and restarts"
PARTITIONS = "Partitions and settings"
IN_FORCE = "Faults in force"

fault = typer.Typer(
    cls=help_format.Group,
    help="Inject faults, list the ones in force, and heal them.",
    epilog="A fault lasts until `rackspan fault heal`. The backend local has no network faults, docker and ssh have "
    "cut and disconnect, netns has all.",
    no_args_is_help=True,
)

RacksArgument = Annotated[str, typer.Argument(metavar="RACK,RACK", help="Two racks, as a,b.")]
TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="Name of the topic.")]


def _verb(name: str, panel: str) -> Callable[[_Verb], _Verb]:
    return fault.command(name, cls=help_format.Command, rich_help_panel=panel)


@_verb("cut", NETWORK)
def cut(
    racks: Annotated[
        str,
        typer.Argument(
            metavar="RACK[,RACK]", help="A rack, which is cut off from all others, or a pair of racks, as a,b."
        ),
    ],
    one_way: Annotated[
        bool, typer.Option("--one-way", help="Drop only packets from the first rack to the other.")
    ] = False,
    gap: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="Cut the rack off host by host, with this time between two hosts, as 500ms.",
            show_default="all hosts at once",
        ),
    ] = "",
    cluster: ClusterOption = None,
) -> None:
    """Drop all packets between racks, a network partition; this machine still reaches every rack."""
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


@_verb("delay", NETWORK)
def delay(
    racks: RacksArgument,
    rtt: Annotated[str, typer.Argument(metavar="RTT", help="Round-trip time, as 20ms.")],
    jitter: Annotated[
        str, typer.Option(metavar="DURATION", help="Largest difference between two round trips, as 1ms.")
    ] = "0ms",
    loss: Annotated[str, typer.Option(metavar="PERCENT", help="Share of packets lost each way, as 1%.")] = "0%",
    cluster: ClusterOption = None,
) -> None:
    """Set the round-trip time between two racks."""
    links = chosen(cluster).links
    links.set_delay(*_pair(racks), rtt, jitter=jitter, loss=loss)
    _show(links)


@_verb("loss", NETWORK)
def loss(
    racks: RacksArgument,
    share: Annotated[str, typer.Argument(metavar="PERCENT", help="Share of packets lost each way, as 5%.")],
    cluster: ClusterOption = None,
) -> None:
    """Set the packet loss between two racks."""
    links = chosen(cluster).links
    links.set_loss(*_pair(racks), share)
    _show(links)


@_verb("slow", NETWORK)
def slow(
    targets: TargetsArgument,
    by: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="Time added to round trips to other racks and to clients.",
            show_default="100ms, without --bandwidth",
        ),
    ] = "",
    bandwidth: Annotated[
        str,
        typer.Option(metavar="BITS", help="Limit of the bandwidth each way, as 10mbit.", show_default="unlimited"),
    ] = "",
    cluster: ClusterOption = None,
) -> None:
    """Slow down the network of nodes: a longer round trip, a bandwidth limit, or both."""
    here = chosen(cluster)
    links = here.links
    for node in here.select(targets):
        if bandwidth:
            links.limit_bandwidth(node.name, bandwidth)
        if by or not bandwidth:
            links.slow(node.name, by or "100ms")
    _show_active(here)


@_verb("disconnect", NETWORK)
def disconnect(targets: TargetsArgument, cluster: ClusterOption = None) -> None:
    """Disconnect nodes from the network, from clients too; their processes continue."""
    here = chosen(cluster)
    for node in here.select(targets):
        here.links.disconnect(node.name)
    _show(here.links)


@_verb("power-cut", MACHINES)
def power_cut(
    targets: TargetsArgument,
    tail: Annotated[
        Tail,
        typer.Option(
            metavar="none|torn|zeros",
            help="What follows the flushed part of each log: nothing, a part of the next batch, or zeros.",
        ),
    ] = "none",
    cluster: ClusterOption = None,
) -> None:
    """Kill nodes and remove all records that they had not flushed to disk; `rackspan start` brings them back."""
    here = chosen(cluster)
    nodes = here.select(targets)
    here.kill([n.name for n in nodes])
    lost = {n.name: lose_unflushed(n, tail) for n in nodes}
    rows = [(name, f"{c.topic}-{c.partition}", c.flushed, c.end) for name, loss in lost.items() for c in loss.cuts]
    out.print(table(("NODE", "PARTITION", "FLUSHED OFFSET", "LOG END OFFSET"), rows))


@_verb("disk-full", MACHINES)
def disk_full(targets: TargetsArgument, cluster: ClusterOption = None) -> None:
    """Let no file of nodes grow: a broker shuts down, as it does when its disk is full."""
    here = chosen(cluster)
    nodes = here.select(targets)
    fill(nodes)
    wait_ended(nodes)
    out.print(table(("NODE", "STATE"), [(n, state) for n, state in here.node_states(n.name for n in nodes).items()]))


@_verb("roll", MACHINES)
def roll(
    targets: TargetsArgument,
    unclean: Annotated[
        bool,
        typer.Option("--unclean", help="Kill each node (kill -9), and do not wait for its replicas to be in sync."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Restart brokers although partitions would refuse writes or be unreadable.")
    ] = False,
    cluster: ClusterOption = None,
) -> None:
    """Restart nodes one after the other (a rolling restart), brokers once `kafka-racks.sh ok-to-stop` says yes."""
    names = rolling_restart(
        chosen(cluster),
        targets,
        how="kill" if unclean else "stop",
        complete=not unclean,
        ask=not (unclean or force),
    )
    out.print(", ".join(names), markup=False)


@_verb("move-leaders", PARTITIONS)
def move_leaders(
    topic: TopicArgument,
    to: Annotated[
        str,
        typer.Argument(
            metavar="BROKER",
            help="The new leader of all partitions, as b1.",
            show_default="the next replica of each partition",
        ),
    ] = "",
    cluster: ClusterOption = None,
) -> None:
    """Move the leaders of a topic to other replicas."""
    here = chosen(cluster)
    moved_leaders(here, topic, to).begin(here)
    _show_active(here)


@_verb("move-replicas", PARTITIONS)
def move_replicas(
    topic: TopicArgument,
    rack: Annotated[str, typer.Argument(metavar="RACK", help="The rack that the replicas leave.")],
    cluster: ClusterOption = None,
) -> None:
    """Move the replicas of a topic out of a rack, to brokers of other racks as far as there are any."""
    here = chosen(cluster)
    moved_replicas(here, topic, rack).begin(here)
    _show_active(here)


@_verb("set", PARTITIONS)
def change_setting(
    setting: Annotated[
        str, typer.Argument(metavar="KEY=VALUE", help="The setting and its value, as min.insync.replicas=3.")
    ],
    topic: Annotated[
        str,
        typer.Option(
            metavar="TOPIC",
            help="Change the setting of this topic only.",
            show_default="all topics, by the setting of the cluster",
        ),
    ] = "",
    cluster: ClusterOption = None,
) -> None:
    """Change a dynamic setting of a topic or of the cluster."""
    name, equals, value = setting.partition("=")
    if not equals:
        raise usage_error(
            f"invalid setting {setting}",
            observed="it is not KEY=VALUE",
            do="write it as in rackspan fault set min.insync.replicas=3",
        )
    here = chosen(cluster)
    changed_setting(here, topic, name, value).begin(here)
    _show_active(here)


@_verb("list", IN_FORCE)
def show(cluster: ClusterOption = None, output: FormatOption = Format.TABLE) -> None:
    """List the faults in force and the links between racks, with round-trip times as requested and as measured."""
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


@_verb("heal", IN_FORCE)
def heal(cluster: ClusterOption = None) -> None:
    """Heal all faults: links as the spec says, all nodes up, leaders, replicas and settings as before."""
    here = chosen(cluster)
    for what in heal_all(here):
        err.print(f"healed: {what}", markup=False)
    if apart(here):
        here.links.check()
    _show_active(here)


def _pair(racks: str) -> tuple[str, str]:
    one, comma, other = racks.partition(",")
    if not comma:
        raise usage_error(
            f"invalid pair of racks {racks}", observed="no comma", do="write it as in rackspan fault delay a,b 20ms"
        )
    return one, other


def _show_active(cluster: KafkaCluster) -> None:
    found = active(cluster)
    if found:
        out.print(table(("FAULT", "SINCE"), [(a.what, a.since) for a in found]))
    else:
        out.print("no active faults")


def _show(links: Links) -> None:
    columns = ("RACKS", "RTT MS", "MEASURED MS", "JITTER", "LOSS", "CUT")
    out.print(table(columns, [list(r.values()) for r in _rows(links)]))
    disconnected = links.state.disconnected
    if disconnected:
        out.print(f"disconnected: {', '.join(disconnected)}", markup=False)


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
