"""What can be done to the links of a running cluster, and what was measured of them."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.backends.base import Capability
from harness.common.atomic_files import write_aside
from harness.common.errors import RackspanError, environment_error, usage_error
from harness.common.paths import locked_wait
from harness.common.wait import Pending, pause, wait_for
from harness.spec.links import At, Link, LinkState, Pair, SlowHost, around, bits, milliseconds, pair_of, resolve
from harness.spec.topology import Node, Plan

if TYPE_CHECKING:
    from harness.backends.base import Backend, Host

KEEPER, LINKS, APPLIED = "delay daemon.json", "links.json", "links.applied"
TOLERANCE = 0.10
Enforce = Callable[[LinkState], None]
_PROBE = str(Path(__file__).with_name("rtt_probe.py"))
_GOOD = 0.04  # not worth another round
_ROUNDS = 8
_MORE_TRIES, _PASSES_S = 2, 10  # what else a machine has to do may pass
_LEAST_SAMPLES, _LONGEST_MS = 5, 2000  # a long link is measured no longer than this, if less often
_MOST_EARLY_NS = 250_000


@dataclass(frozen=True)
class LinkMeasurement:
    """Round-trip times between two racks, requested and measured, in ms; None where nothing came back."""

    racks: str
    requested_ms: float
    p25_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    samples: int

    @property
    def off(self) -> float:
        """By which share the median is off; 0 where no delay is requested."""
        if self.p50_ms is None:
            return 1.0
        return abs(self.p50_ms - self.requested_ms) / self.requested_ms if self.requested_ms else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain data for a run's manifest."""
        return asdict(self)

    def __str__(self) -> str:
        observed = "no answer" if self.p50_ms is None else f"{self.p50_ms:.2f} ms"
        return f"{self.racks} {observed} (requested {self.requested_ms:g} ms)"


class Links:
    """The links of one cluster. Every change is on record in its folder and in force when the method returns: `enforce`
    sees to that, and raises RackspanError if it cannot.
    """

    def __init__(
        self, folder: Path, plan: Plan, backend: Backend, host: Callable[[Node], Host], enforce: Enforce
    ) -> None:
        self._folder = folder
        self._plan = plan
        self._backend = backend
        self._host = host
        self._enforce = enforce

    @property
    def state(self) -> LinkState:
        """What holds now."""
        try:
            return LinkState.model_validate_json((self._folder / LINKS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return self._complete()

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
        """Nothing passes any more between a rack and another one, or all others; `one_way`: nothing from it to them.

        Inside the rack, and between it and the driver, all continues. Raises RackspanError.
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
        """Nothing passes any more between a node and other racks; in its rack, and with the driver, all continues.

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
        """Round trips between a node and other racks or the driver take that much longer, as "100ms"; not so inside its
        rack, and between two slow nodes only once. Raises RackspanError.
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
        """No more than that passes to a node, and as much from it, whoever is at the other end, as "10mbit".

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
        """Takes a node off the network altogether, also from the driver's sight. Raises RackspanError."""
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
        """Undoes all cuts, puts all cables back, and gives each link the delay that the spec says."""
        declared = declared_links(self._plan)

        def complete(state: LinkState) -> None:
            state.cuts, state.isolated, state.slow, state.disconnected, state.links = [], {}, {}, [], declared
            state.bandwidth_limits = {}

        self._change(complete)

    def faults(self) -> list[str]:
        """What differs from the spec, in words."""
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
        state = self.state
        first: dict[str, Node] = {}
        for node in self._plan.nodes:
            if node.name not in state.disconnected and node.name not in state.isolated:
                first.setdefault(node.rack, node)
        pairs = [p for p in state.pairs() if p[0] in first and p[1] in first and not state.is_cut(*p)]
        if delayed_only:
            pairs = [p for p in pairs if not state.link(*p).plain]

        def times_of(pair: Pair) -> list[int]:
            enough = max(_LEAST_SAMPLES, int(_LONGEST_MS / max(state.link(*pair).ms, 1)))
            return self._times(first[pair[0]], first[pair[1]], min(samples, enough))

        with ThreadPoolExecutor(max_workers=4) as pool:
            times = list(pool.map(times_of, pairs))
        return [_observed("-".join(p), state.link(*p).ms, t) for p, t in zip(pairs, times, strict=True)]

    def check(self, samples: int = 25, rounds: int = _ROUNDS) -> list[LinkMeasurement]:
        """The measured times of delayed links, once every median is within 10 % of what is requested.

        Raises RackspanError (exit code 4): a machine that cannot hold the delays must not give numbers.
        """
        best = self.tune(samples, rounds)
        for _ in range(_MORE_TRIES):
            if _worst(best) <= TOLERANCE:
                break
            pause(_PASSES_S)
            best = self.tune(samples, rounds)
        wrong = [str(s) for s in best if s.off > TOLERANCE]
        if wrong:
            raise environment_error(
                "the delays between racks are not what was requested",
                observed=f"{', '.join(wrong)} at best in {rounds} rounds of {samples} samples, {_MORE_TRIES + 1} times",
                do="give the machine less other work, or require longer delays",
            )
        return best

    def tune(self, samples: int, rounds: int) -> list[LinkMeasurement]:
        """The measured times of delayed links, at their best of so many rounds at most: between rounds packets are let
        go earlier or later, as this machine wakes now. Stops when the worst is within 4 %.
        """
        best: list[LinkMeasurement] = []
        early = self.state.early_ns
        for number in range(rounds):
            observed = self.measure(samples, delayed_only=True)
            if not best or _worst(observed) < _worst(best):
                best, early = observed, self.state.early_ns
            if _worst(best) <= _GOOD or (number >= 2 and _worst(best) <= TOLERANCE):
                break
            self._let_go_earlier(self.state.early_ns + _late(observed))
        if self.state.early_ns != early:
            self._let_go_earlier(early)
        return best

    def write(self) -> None:
        """The links file of a cluster that has no delay daemon yet."""
        (self._folder / APPLIED).unlink(missing_ok=True)
        write_aside(self._folder / LINKS, self._complete().model_dump_json(indent=1))

    def _complete(self) -> LinkState:
        return LinkState(racks=list(self._plan.spec.racks), links=declared_links(self._plan))

    def _let_go_earlier(self, ns: int) -> None:
        """By how much packets go before they are due, to make up for a machine that wakes late."""

        def earlier(state: LinkState) -> None:
            state.early_ns = max(0, min(_MOST_EARLY_NS, ns))

        self._change(earlier)

    def _times(self, source: Node, target: Node, samples: int) -> list[int]:
        out = self._host(source).run([sys.executable, "-I", "-S", _PROBE, target.address, str(samples), "0.004"])
        times: list[int] = json.loads(out)
        return times

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


def wait_applied(folder: Path, version: int = 1) -> None:
    """Waits until the delay daemon has that version in force. Raises RackspanError with what prevented it."""

    def applied() -> bool | Pending:
        try:
            answer = json.loads((folder / APPLIED).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Pending("no answer yet")
        if answer["version"] < version:
            return Pending(f"version {answer['version']} of {version}")
        if answer["error"]:
            raise _NotApplied("the links cannot be set", observed=answer["error"], do="see `rackspan doctor`")
        return True

    wait_for("the links to be set", applied, 30, every=0.01, at_once=_NotApplied)


class _NotApplied(RackspanError):
    """The delay daemon could not set the links."""


def declared_links(plan: Plan) -> dict[str, Link]:
    """Links as the spec says, by pair."""
    return resolve(plan.spec.links, list(plan.spec.racks))


def _worst(observed: Sequence[LinkMeasurement]) -> float:
    return max((s.off for s in observed), default=0.0)


def _late(observed: Sequence[LinkMeasurement]) -> int:
    """By how many ns packets come late each way, for as much of it as is always so: a busy machine's bad moments cannot
    be made up for.
    """
    late = [s.p25_ms - s.requested_ms for s in observed if s.requested_ms and s.p25_ms is not None]
    return round(statistics.median(late) * 5e5) if late else 0


def _observed(racks: str, requested: float, times: Sequence[int]) -> LinkMeasurement:
    back = sorted(t / 1000 for t in times if t >= 0)
    if not back:
        return LinkMeasurement(racks, requested, None, None, None, None, len(times))
    p25, p50, p90, p99 = (back[round(q * (len(back) - 1))] for q in (0.25, 0.5, 0.9, 0.99))
    return LinkMeasurement(racks, requested, p25, p50, p90, p99, len(times))
