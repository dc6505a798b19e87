"""Links between racks as values: what is requested, what is cut, and the packet filter that makes it so. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, permutations

from pydantic import BaseModel, ConfigDict, Field, field_validator

DEFAULT = "default"
MAX_RACKS = 30  # a queue a pair: 435 of them
MAX_MS = 10_000.0
_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_BITS = {"kbit": 1_000, "mbit": 1_000_000, "gbit": 1_000_000_000}

Pair = tuple[str, str]


class Link(BaseModel):
    """A pair of racks: round-trip time, by how much a round trip varies at most, and the share of packets lost each
    way; all as text with units.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    rtt: str = Field("0ms", description='round-trip time, as "2ms"; half of it each way')
    jitter: str = Field("0ms", description='round trips vary by up to this much either way, as "500us"')
    loss: str = Field("0%", description='share of packets lost in each direction, as "0.5%"')

    @field_validator("rtt", "jitter")
    @classmethod
    def _times(cls, value: str) -> str:
        milliseconds(value)
        return value

    @field_validator("loss")
    @classmethod
    def _share(cls, value: str) -> str:
        share(value)
        return value

    @property
    def ms(self) -> float:
        """The round-trip time in milliseconds."""
        return milliseconds(self.rtt)

    @property
    def plain(self) -> bool:
        """True if nothing is to be done to its packets."""
        return self.ms == 0 and milliseconds(self.jitter) == 0 and share(self.loss) == 0

    def __str__(self) -> str:
        more = [
            f"{name} {value}"
            for name, value in (("jitter", self.jitter), ("loss", self.loss))
            if value not in ("0ms", "0%")
        ]
        return ", ".join([self.rtt, *more])

    def one_way(self) -> tuple[int, int, float]:
        """Delay and jitter of one direction in ns, and the share of packets lost."""
        return round(self.ms * 5e5), round(milliseconds(self.jitter) * 5e5), share(self.loss)


class At(BaseModel):
    """A node as the packet filter knows it: the rack it is in, and its address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rack: str
    address: str


class SlowHost(At):
    """A node to which every round trip from elsewhere takes `rtt` longer; `number` is its own among slow ones."""

    rtt: str
    number: int


class LinkState(BaseModel):
    """All links of a cluster at one moment: links by pair (`a-b`, in the order of the racks), directed cuts, nodes
    that are cut off from other racks, slow ones, bandwidth by node where it is limited, and nodes whose cable is out.
    `version` grows with each change; `early_ns` is how early packets are let go, to make up for a machine that wakes
    late.
    """

    model_config = ConfigDict(extra="forbid")

    version: int = 1
    racks: list[str]
    links: dict[str, Link] = Field(default_factory=dict)
    cuts: list[Pair] = Field(default_factory=list)
    isolated: dict[str, At] = Field(default_factory=dict)
    slow: dict[str, SlowHost] = Field(default_factory=dict)
    bandwidth_limits: dict[str, str] = Field(default_factory=dict)
    disconnected: list[str] = Field(default_factory=list)
    early_ns: int = 0

    def pairs(self) -> list[Pair]:
        """Every pair of racks once; the place in this list is the number of its queue."""
        return list(combinations(self.racks, 2))

    def link(self, one: str, other: str) -> Link:
        """The link of two racks."""
        return self.links.get(f"{one}-{other}") or self.links.get(f"{other}-{one}") or Link()  # type: ignore[call-arg]

    def is_cut(self, one: str, other: str) -> bool:
        """True if a round trip between the racks fails."""
        return (one, other) in self.cuts or (other, one) in self.cuts


def milliseconds(text: str) -> float:
    """A time with its unit in ms. Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", text.strip())
    if match is None:
        raise ValueError(f"cannot read {text!r} as a time with unit, as in 2ms, 500us, 1s")
    value = float(match[1]) * _UNITS[match[2]]
    if value > MAX_MS:
        raise ValueError(f"{text} is more than {MAX_MS / 1000:.0f}s")
    return value


def share(text: str) -> float:
    """A percentage as a share from 0 to 1. Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%", text.strip())
    if match is None or float(match[1]) > 100:
        raise ValueError(f"cannot read {text!r} as a share, as in 0.5%")
    return float(match[1]) / 100


def bits(text: str) -> int:
    """A bandwidth with its unit in bits a second. Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]bit)", text.strip())
    value = round(float(match[1]) * _BITS[match[2]]) if match else 0
    if match is None or not 8_000 <= value <= 100_000_000_000:
        raise ValueError(f"cannot read {text!r} as a bandwidth with unit from 8kbit to 100gbit, as in 10mbit")
    return value


def pair_of(text: str, racks: Sequence[str]) -> Pair:
    """The racks that `a-b` (or `a,b`) names, in the order of the spec. Raises ValueError that names what is unknown."""
    separator = "," if "," in text else "-"
    parts = text.split(separator)
    splits = [(separator.join(parts[:n]).strip(), separator.join(parts[n:]).strip()) for n in range(1, len(parts))]
    found = [(a, b) for a, b in splits if a in racks and b in racks and a != b]
    if len(found) != 1:
        why = "can be read in two ways; write it with a comma" if found else "is no pair of racks"
        raise ValueError(f"{text!r} {why}; racks: {', '.join(racks)}, as in {'-'.join([*racks, 'a', 'b'][:2])}")
    one, other = found[0]
    return (one, other) if racks.index(one) < racks.index(other) else (other, one)


def resolve(declared: Mapping[str, Link], racks: Sequence[str]) -> dict[str, Link]:
    """Links by pair in the order of the racks, `default` spread over the pairs that are not named.

    Raises ValueError.
    """
    if declared and len(racks) > MAX_RACKS:
        raise ValueError(f"links are possible for up to {MAX_RACKS} racks, not {len(racks)}")
    named: dict[Pair, Link] = {}
    for text, link in declared.items():
        if text == DEFAULT:
            continue
        pair = pair_of(text, racks)
        if pair in named:
            raise ValueError(f"{text!r} is named twice")
        named[pair] = link
    common = declared.get(DEFAULT, Link())  # type: ignore[call-arg]
    return {f"{a}-{b}": named.get((a, b), common) for a, b in combinations(racks, 2)} if declared else {}


def around(rack: str, racks: Sequence[str]) -> list[Pair]:
    """Every direction into and out of a rack."""
    return [pair for pair in permutations(racks, 2) if rack in pair]


def interface(racks: Sequence[str], rack: str) -> str:
    """Name of the rack's bridge: at most 15 characters, however long the rack's own name is."""
    return f"rack{list(racks).index(rack) + 1}"


def rules(state: LinkState) -> str:
    """The filter table for iptables-restore: cut directions are dropped, delayed pairs queued.

    Without a daemon at the queue packets would pass undelayed; the daemon is the first process of the cluster's hosts,
    so that they end with it.
    """
    lines = ["*filter", ":INPUT ACCEPT [0:0]", ":FORWARD ACCEPT [0:0]", ":OUTPUT ACCEPT [0:0]"]
    lines += [f"-A FORWARD {_between(state, pair)} -j DROP" for pair in sorted(set(state.cuts))]
    for at in state.isolated.values():
        own = interface(state.racks, at.rack)
        lines.append(f"-A FORWARD -i {own} ! -o {own} -s {at.address} -j DROP")
        lines.append(f"-A FORWARD ! -i {own} -o {own} -d {at.address} -j DROP")
    for host in state.slow.values():
        own = interface(state.racks, host.rack)
        for number, other, _ in _slow_queues(state, host):
            queue = f"-j NFQUEUE --queue-num {number} --queue-bypass"
            far = interface(state.racks, other)
            if other == host.rack:  # from and to this machine's own clients
                lines.append(f"-A OUTPUT -o {own} -d {host.address} {queue}")
                lines.append(f"-A INPUT -i {own} -s {host.address} {queue}")
            else:
                lines.append(f"-A FORWARD -i {own} -o {far} -s {host.address} {queue}")
                lines.append(f"-A FORWARD -i {far} -o {own} -d {host.address} {queue}")
    for number, (one, other) in enumerate(state.pairs()):
        if not state.link(one, other).plain:
            for pair in ((one, other), (other, one)):
                queue = f"-j NFQUEUE --queue-num {number} --queue-bypass"
                lines.append(f"-A FORWARD {_between(state, pair)} {queue}")
    return "\n".join([*lines, "COMMIT", ""])


def queues(state: LinkState) -> Iterable[tuple[int, int, int, float]]:
    """Queue number, delay and jitter one way (ns), loss, of every pair that is delayed and of slow nodes' own links."""
    for number, (one, other) in enumerate(state.pairs()):
        link = state.link(one, other)
        if not link.plain:
            yield number, *link.one_way()
    for host in state.slow.values():
        for number, _, link in _slow_queues(state, host):
            delay, jitter, loss = link.one_way()
            yield number, delay + round(milliseconds(host.rtt) * 5e5), jitter, loss


def _slow_queues(state: LinkState, host: SlowHost) -> Iterable[tuple[int, str, Link]]:
    """Queue number, the rack at the other end and its link, of all links of a slow node; its own rack stands for the
    clients at the router. Inside a rack packets do not come this way.
    """
    first = len(state.pairs()) + host.number * len(state.racks)
    for place, other in enumerate(state.racks):
        yield first + place, other, state.link(host.rack, other)


def _between(state: LinkState, pair: Pair) -> str:
    source, target = (interface(state.racks, rack) for rack in pair)
    return f"-i {source} -o {target}"
