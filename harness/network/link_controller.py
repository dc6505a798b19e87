"""Changes to the links of a running cluster: delays, losses, cuts, hosts that are slow or off the network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from harness.common.atomic_files import write_aside
from harness.common.errors import usage_error
from harness.common.paths import locked_wait
from harness.hosts.host import Capability, Host
from harness.network import link_measurement
from harness.network.link_files import APPLIED, LINKS
from harness.network.link_measurement import LinkMeasurement
from harness.spec.links import At, Link, LinkState, Pair, SlowHost, around, bits, milliseconds, pair_of, resolve
from harness.spec.topology import Node, Plan

Enforce = Callable[[LinkState], None]
_MOST_EARLY_NS = 250_000


class Capable(Protocol):
    """A backend, as far as links depend on it: what it can do to its hosts."""

    capabilities: frozenset[Capability]

    def require(self, *wanted: Capability) -> None:
        """Raises RackspanError (exit code 4) if it lacks one of these."""


class Links:
    """Links of one cluster. Every change is on record in its folder and in force when the method returns: `enforce`
    sees to that, and raises RackspanError if it cannot.
    """

    def __init__(
        self, folder: Path, plan: Plan, backend: Capable, host: Callable[[Node], Host], enforce: Enforce
    ) -> None:
        self._folder = folder
        self._plan = plan
        self._backend = backend
        self._host = host
        self._enforce = enforce

    @property
    def state(self) -> LinkState:
        """Links as they are to be now."""
        try:
            return LinkState.model_validate_json((self._folder / LINKS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return self._as_declared()

    def set_delay(self, one: str, other: str, rtt: str, *, jitter: str = "0ms", loss: str = "0%") -> None:
        """Round-trip time between two racks from now on, as `set_delay("a", "b", "20ms")`. Raises RackspanError."""
        self._backend.require(Capability.DELAY)
        pair = self._pair(one, other)
        try:
            link = Link(rtt=rtt, jitter=jitter, loss=loss)
        except ValueError as e:
            raise usage_error(
                f"cannot delay {one}-{other}", observed=str(e), do="give times as 2ms, a loss as 1%"
            ) from e
        self._change(lambda s: s.links.update({"-".join(pair): link}))

    def cut(self, rack: str, other: str | None = None, *, one_way: bool = False) -> None:
        """Cuts a rack off from another one, or from all others; `one_way`: only what it sends to them.

        Traffic inside the rack, and between it and the driver, is not affected. Raises RackspanError.
        """
        pairs = self._directions(rack, other)
        if one_way:
            pairs = [pair for pair in pairs if pair[0] == rack]
        self._change(lambda s: s.cuts.extend(pair for pair in pairs if pair not in s.cuts))

    def heal_cut(self, rack: str, other: str | None = None) -> None:
        """Undoes cuts between a rack and another one, or all others; none there is success. Raises RackspanError."""
        pairs = self._directions(rack, other)

        def healed(state: LinkState) -> None:
            state.cuts = [pair for pair in state.cuts if pair not in pairs]

        self._change(healed)

    def set_loss(self, one: str, other: str, loss: str) -> None:
        """Share of packets lost each way between two racks from now on, as "5%"; the times stay.

        Raises RackspanError.
        """
        now = self.state.link(*self._pair(one, other))
        self.set_delay(one, other, now.rtt, jitter=now.jitter, loss=loss)

    def isolate(self, node: str) -> None:
        """Cuts a node off from other racks; traffic in its rack, and with the driver, is not affected.

        Raises RackspanError.
        """
        found = self._plan.node(node)
        at = At(rack=found.rack, address=found.address)
        self._change(lambda s: s.isolated.update({found.name: at}))

    def rejoin(self, node: str) -> None:
        """Undoes `isolate`; a node that is not isolated is success. Raises RackspanError."""
        name = self._plan.node(node).name
        self._change(lambda s: s.isolated.pop(name, None))

    def slow(self, node: str, rtt: str) -> None:
        """Adds that much, as "100ms", to round trips between a node and other racks or the driver; not inside its rack,
        and only once between two slow nodes. Raises RackspanError.
        """
        self._backend.require(Capability.SLOW)
        found = self._plan.node(node)
        try:
            milliseconds(rtt)
        except ValueError as e:
            raise usage_error(f"cannot slow {node}", observed=str(e), do="give a time as 100ms") from e

        def slowed(state: LinkState) -> None:
            taken = {host.number for name, host in state.slow.items() if name != found.name}
            number = next(n for n in range(len(taken) + 1) if n not in taken)
            state.slow[found.name] = SlowHost(rack=found.rack, address=found.address, rtt=rtt, number=number)

        self._change(slowed)

    def unslow(self, node: str) -> None:
        """Undoes `slow`; a node that is not slow is success. Raises RackspanError."""
        name = self._plan.node(node).name
        self._change(lambda s: s.slow.pop(name, None))

    def limit_bandwidth(self, node: str, bandwidth: str) -> None:
        """Limits what passes to a node, and what passes from it, whoever is at the other end, as "10mbit".

        Raises RackspanError.
        """
        self._backend.require(Capability.SLOW)
        name = self._plan.node(node).name
        try:
            bits(bandwidth)
        except ValueError as e:
            raise usage_error(f"cannot limit {node}", observed=str(e), do="give a bandwidth as 10mbit") from e
        self._change(lambda s: s.bandwidth_limits.update({name: bandwidth}))

    def unlimit_bandwidth(self, node: str) -> None:
        """Undoes `limit_bandwidth`; a node that is not limited is success. Raises RackspanError."""
        name = self._plan.node(node).name
        self._change(lambda s: s.bandwidth_limits.pop(name, None))

    def disconnect(self, node: str) -> None:
        """Takes a node off the network altogether; the driver cannot reach it either. Raises RackspanError."""
        name = self._plan.node(node).name
        self._change(lambda s: None if name in s.disconnected else s.disconnected.append(name))

    def connect(self, node: str) -> None:
        """Puts a node back on the network; one that is on it is success. Raises RackspanError."""
        name = self._plan.node(node).name
        self._change(lambda s: s.disconnected.remove(name) if name in s.disconnected else None)

    def restore_delay(self, one: str, other: str) -> None:
        """Gives a link the delay that the spec says. Raises RackspanError."""
        pair = "-".join(self._pair(one, other))
        link = declared_links(self._plan).get(pair, Link())  # type: ignore[call-arg]
        self._change(lambda s: s.links.update({pair: link}))

    def heal(self) -> None:
        """Undoes all cuts, connects all hosts, and gives each link the delay that the spec says."""
        declared = declared_links(self._plan)

        def healed(state: LinkState) -> None:
            state.cuts, state.isolated, state.slow, state.disconnected, state.links = [], {}, {}, [], declared
            state.bandwidth_limits = {}

        self._change(healed)

    def faults(self) -> list[str]:
        """Differences from the spec, in words."""
        state, declared = self.state, declared_links(self._plan)
        words = [f"{node} is off the network" for node in state.disconnected]
        words += [f"{node} is cut off from other racks" for node in state.isolated]
        words += [f"{node} is slower by {host.rtt}" for node, host in state.slow.items()]
        words += [f"{node} has {bandwidth} each way" for node, bandwidth in state.bandwidth_limits.items()]
        for one, other in state.pairs():
            cuts = [pair for pair in ((one, other), (other, one)) if pair in state.cuts]
            if cuts:
                words.append(f"{one}-{other} is cut" if len(cuts) == 2 else f"{cuts[0][0]} to {cuts[0][1]} is cut")
            link, requested = state.link(one, other), declared.get(f"{one}-{other}", Link())  # type: ignore[call-arg]
            if link != requested:
                words.append(f"{one}-{other} has {link}, not {requested}")
        return words

    def measure(self, samples: int = 25, *, delayed_only: bool = False) -> list[LinkMeasurement]:
        """Round-trip times, from host to host, of all pairs of racks (or delayed ones) with nodes and without a cut;
        none where the backend has no delays. Fewer samples where one takes long.
        """
        if Capability.DELAY not in self._backend.capabilities:
            return []
        return link_measurement.measure(self.state, self._plan, self._host, samples, delayed_only=delayed_only)

    def check(self, samples: int = 25, rounds: int = link_measurement.ROUNDS) -> list[LinkMeasurement]:
        """Measured times of delayed links, once every median is within 10 % of what is requested.

        Raises RackspanError (exit code 4): a machine that cannot hold the delays must not give numbers.
        """
        return link_measurement.check(lambda: self.tune(samples, rounds), rounds, samples)

    def tune(self, samples: int, rounds: int) -> list[LinkMeasurement]:
        """Measured times of delayed links, at their best of so many rounds at most: between rounds packets are released
        earlier or later, as this machine wakes now. Stops when the worst is within 4 %.
        """
        return link_measurement.tune(
            lambda: self.measure(samples, delayed_only=True), self.state.early_ns, self._release_early, rounds
        )

    def write(self) -> None:
        """The links file of a cluster that has no delay daemon yet."""
        (self._folder / APPLIED).unlink(missing_ok=True)
        write_aside(self._folder / LINKS, self._as_declared().model_dump_json(indent=1))

    def _as_declared(self) -> LinkState:
        return LinkState(racks=list(self._plan.spec.racks), links=declared_links(self._plan))

    def _release_early(self, ns: int) -> int:
        """Has packets released so much before they are due, to make up for a machine that wakes late, and returns by
        how much they are now.
        """
        early_ns = max(0, min(_MOST_EARLY_NS, ns))

        def release(state: LinkState) -> None:
            state.early_ns = early_ns

        self._change(release)
        return early_ns

    def _change(self, change: Callable[[LinkState], object]) -> None:
        with locked_wait(self._folder / "links.lock"):
            state = self.state
            change(state)
            state.version += 1
            write_aside(self._folder / LINKS, state.model_dump_json(indent=1))
            self._enforce(state)

    def _directions(self, rack: str, other: str | None) -> list[Pair]:
        """Both directions between two racks, or all into and out of one."""
        self._rack(rack)
        if other is None:
            return around(rack, list(self._plan.spec.racks))
        self._pair(rack, other)
        return [(rack, other), (other, rack)]

    def _rack(self, rack: str) -> None:
        racks = list(self._plan.spec.racks)
        if rack not in racks:
            raise usage_error(f"rack {rack!r} not found", observed=f"racks: {', '.join(racks)}", do="name one of them")

    def _pair(self, one: str, other: str) -> Pair:
        self._rack(one)
        self._rack(other)
        if one == other:
            raise usage_error(f"{one}-{other} is no link", observed="one rack named twice", do="name two racks")
        return pair_of(f"{one},{other}", list(self._plan.spec.racks))


def declared_links(plan: Plan) -> dict[str, Link]:
    """Links as the spec declares them, by pair."""
    return resolve(plan.spec.links, list(plan.spec.racks))
