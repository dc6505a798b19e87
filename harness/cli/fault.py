"""`rackspan fault`: what is done to the network between racks, and undone; power cuts."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.options import ClusterOption, FormatOption, TargetsArgument, chosen
from harness.cli.output import Format, data, err, out, table
from harness.errors import usage_error
from harness.faults.power import lose_unflushed
from harness.faults.unflushed import Tail
from harness.net.control import Links

fault = typer.Typer(
    help="Cut and delay the network between racks (back end netns); take the power from nodes.", no_args_is_help=True
)

RacksArgument = Annotated[str, typer.Argument(help="Two racks, as a,b.")]


@fault.command("cut")
def cut(
    racks: Annotated[str, typer.Argument(help="A rack, cut off from all others, or two racks, as a,b.")],
    one_way: Annotated[bool, typer.Option("--one-way", help="Only what goes from the first to the other.")] = False,
    cluster: ClusterOption = None,
) -> None:
    """Let nothing pass between racks any more; clients of this machine reach all of them still."""
    rack, _, other = racks.partition(",")
    links = chosen(cluster).links
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
    one, comma, other = racks.partition(",")
    if not comma:
        raise usage_error(
            f"cannot read {racks} as two racks", seen="no comma", do="as in rackspan fault delay a,b 20ms"
        )
    links = chosen(cluster).links
    links.set_delay(one, other, rtt, jitter=jitter, loss=loss)
    _show(links)


@fault.command("unplug")
def unplug(targets: TargetsArgument, cluster: ClusterOption = None) -> None:
    """Take nodes off the network; their processes run on."""
    here = chosen(cluster)
    for node in here.select(targets):
        here.links.unplug(node.name)
    _show(here.links)


@fault.command("power-cut")
def power_cut(
    targets: TargetsArgument,
    tail: Annotated[Tail, typer.Option(help="What is left behind the flushed part of a log.")] = "none",
    cluster: ClusterOption = None,
) -> None:
    """Kill nodes and take from them all that they had not flushed; `rackspan start` brings them back (any back end)."""
    here = chosen(cluster)
    nodes = here.select(targets)
    here.kill([n.name for n in nodes])
    lost = {n.name: lose_unflushed(n, tail) for n in nodes}
    rows = [(name, f"{c.topic}-{c.partition}", c.flushed, c.end) for name, loss in lost.items() for c in loss.cuts]
    out.print(table(("NODE", "LOG", "FLUSHED UP TO", "HAD"), rows))


@fault.command("list")
def show(cluster: ClusterOption = None, output: FormatOption = Format.TABLE) -> None:
    """Show every link: round-trip time asked and measured, and what is cut."""
    _show(chosen(cluster).links, output)


@fault.command("heal")
def heal(cluster: ClusterOption = None) -> None:
    """Undo all cuts, put all nodes back on the network, and give each link the delay that the spec says."""
    links = chosen(cluster).links
    before = links.state
    links.heal()
    for one, other in before.cuts:
        err.print(f"{one} to {other}: not cut any more")
    for node in before.unplugged:
        err.print(f"{node}: back on the network")
    links.check()
    _show(links)


def _show(links: Links, output: Format = Format.TABLE) -> None:
    state = links.state
    measured = {seen.racks: seen for seen in links.measure(samples=9)}
    rows: list[dict[str, object]] = []
    for one, other in state.pairs():
        seen = measured.get(f"{one}-{other}")
        cuts = [f"{a} to {b}" for a, b in state.cuts if {a, b} == {one, other}]
        rows.append(
            {
                "racks": f"{one}-{other}",
                "rtt_ms": state.link(one, other).ms,
                "measured_ms": seen.p50_ms if seen else None,
                "jitter": state.link(one, other).jitter,
                "loss": state.link(one, other).loss,
                "cut": ", ".join(cuts),
            }
        )
    if output is not Format.TABLE:
        data({"links": rows, "unplugged": state.unplugged}, output)
        return
    columns = ("RACKS", "RTT MS", "MEASURED MS", "JITTER", "LOSS", "CUT")
    out.print(table(columns, [list(r.values()) for r in rows]))
    if state.unplugged:
        out.print(f"off the network: {', '.join(state.unplugged)}", markup=False)
