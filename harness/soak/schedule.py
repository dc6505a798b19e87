"""Schedule of the faults of a cycle: drawn from a seed, which replays them. Pure."""

from __future__ import annotations

import difflib
import random
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from harness.common.errors import environment_error, usage_error
from harness.recording.log_files import Tail

What = Literal[
    "kill",
    "stop",
    "pause",
    "power_cut",
    "cut_behind_pause",
    "disk_full",
    "roll_stop",
    "roll_kill",
    "move_leaders",
    "reassign",
    "change_config",
    "degrade",
    "cut",
    "cut_one_way",
    "delay",
    "loss",
    "disconnect",
    "stagger",
    "slow",
]
Whom = Literal["node", "rack", "pair", "leader", "controller", "all"]
Kind = tuple[What, Whom]

# How often each is drawn as the second fault of a cycle, by weight. A power cut is what racks are for.
_WEIGHTS: dict[Kind, int] = {
    ("kill", "node"): 2,
    ("kill", "rack"): 2,
    ("kill", "leader"): 2,
    ("kill", "controller"): 1,
    ("stop", "node"): 1,
    ("stop", "rack"): 1,
    ("pause", "node"): 1,
    ("pause", "rack"): 2,
    ("pause", "leader"): 2,
    ("pause", "controller"): 1,
    ("power_cut", "node"): 2,
    ("power_cut", "rack"): 4,
    ("power_cut", "leader"): 3,
    ("power_cut", "controller"): 1,
    ("cut_behind_pause", "rack"): 3,
    ("disk_full", "node"): 1,
    ("disk_full", "leader"): 1,
    ("roll_stop", "all"): 1,
    ("roll_kill", "all"): 1,
    ("move_leaders", "all"): 1,
    ("reassign", "rack"): 1,
    ("change_config", "all"): 1,
    ("degrade", "rack"): 2,
}
_NETWORK: dict[Kind, int] = {
    ("cut", "rack"): 3,
    ("cut", "pair"): 2,
    ("cut_one_way", "rack"): 2,
    ("delay", "pair"): 1,
    ("loss", "pair"): 1,
    ("disconnect", "leader"): 1,
    ("stagger", "rack"): 2,
    ("slow", "leader"): 1,
}
EVERYWHERE: tuple[Kind, ...] = tuple(_WEIGHTS)
NETWORK: tuple[Kind, ...] = tuple(_NETWORK)
_NEEDS: dict[What, str] = {"delay": "delay", "loss": "delay", "slow": "slow"}  # of a backend; the others need cut

_TAILS: tuple[Tail, ...] = ("none", "torn", "zeros")


@dataclass(frozen=True)
class ScheduledFault:
    """One fault: what is done to whom, for how many seconds.

    `target` is a rack or a node; "" is found when the time comes (the leader, the active controller). `other` is the
    second rack of a pair, the one that is paused while the target's power is cut, or the one whose power is cut before
    a degrade to the target. `much` is a delay, a gap or a loss, with its unit.
    """

    what: What
    whom: Whom
    target: str
    seconds: float
    tail: Tail = "none"
    other: str = ""
    much: str = ""

    @property
    def kind(self) -> str:
        """For counting."""
        return f"{self.what} {self.whom}"

    def plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def kinds_of(text: str, can: Collection[str]) -> tuple[Kind, ...]:
    """The kinds that `kill,power_cut:rack` names; "" is all that a backend with these capabilities has.

    Raises RackspanError: exit code 2 for a kind that there is not, 4 for one that the backend cannot do.
    """
    possible = EVERYWHERE + tuple(k for k in NETWORK if _NEEDS.get(k[0], "cut") in can)
    found: list[Kind] = []
    for part in filter(None, (p.strip().replace("-", "_") for p in text.split(","))):
        known = [k for k in EVERYWHERE + NETWORK if part in (k[0], f"{k[0]}:{k[1]}")]
        if not known:
            raise _no_kind(part)
        if not any(k in possible for k in known):
            raise environment_error(
                f"the soak cannot have the fault {part} here",
                observed=f"the backend lacks: {', '.join(sorted({_NEEDS.get(k[0], 'cut') for k in known}))}",
                do="add --backend netns",
            )
        found += [k for k in known if k in possible]
    return tuple(dict.fromkeys(found)) or possible


def without_degrades(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """The kinds that a cluster can have whose topics require no racks, or that knows no degrades."""
    return tuple(kind for kind in kinds if kind[0] != "degrade")


def schedule(
    seed: int,
    cycle: int,
    racks: Sequence[str],
    brokers: Sequence[str],
    kinds: Sequence[Kind] = EVERYWHERE,
    per_cycle: int = 1,
) -> list[ScheduledFault]:
    """The faults of one cycle, counted from 1, one after another: a function of its arguments alone.

    The first `per_cycle` of each cycle go through all kinds in turn before one comes again; now and then there is one
    more, by weight.
    """
    begin = (cycle - 1) * per_cycle
    rng = random.Random(f"{seed}/{cycle}")
    drawn = [_in_turn(seed, number, kinds) for number in range(begin, begin + per_cycle)]
    if rng.random() < 0.5:
        weights = _WEIGHTS | _NETWORK
        drawn += rng.choices(list(kinds), weights=[weights[k] for k in kinds])
    return [_fault(rng, kind, racks, brokers) for kind in drawn]


def _in_turn(seed: int, number: int, kinds: Sequence[Kind]) -> Kind:
    """The kind at a place, counted from 0, of the seed's order, in which all kinds come before one comes again."""
    turn, place = divmod(number, len(kinds))
    deck = list(kinds)
    random.Random(f"{seed}/deck {turn}").shuffle(deck)  # seeded by a text: the same on every Python
    return deck[place]


def _fault(rng: random.Random, kind: Kind, racks: Sequence[str], brokers: Sequence[str]) -> ScheduledFault:
    what, whom = kind
    seconds = round(rng.uniform(2.0, 5.0), 1)
    tail = rng.choice(_TAILS)
    rack, other = rng.sample(list(racks), 2)
    node, much = rng.choice(list(brokers)), round(rng.uniform(1.0, 10.0))
    default = rng.random() < 0.5
    target = {"rack": rack, "pair": rack, "node": node, "leader": "", "controller": "", "all": ""}[whom]
    if what == "change_config" and default:
        target = "cluster"
    return ScheduledFault(
        what,
        whom,
        target,
        seconds,
        tail=tail if what in ("power_cut", "cut_behind_pause", "degrade") else "none",
        other=other if whom == "pair" or what in ("cut_behind_pause", "degrade") else "",
        much=f"{3 * much}%" if what == "loss" else f"{20 * much}ms" if what in ("delay", "stagger", "slow") else "",
    )


def _no_kind(part: str) -> Exception:
    names = list(dict.fromkeys(k[0] for k in EVERYWHERE + NETWORK))
    near = difflib.get_close_matches(part, names, 1)
    return usage_error(
        f"fault {part!r} not found",
        observed=f"did you mean {near[0]}?" if near else f"faults: {', '.join(names)}",
        do="name some of them, as in --faults kill,power_cut:rack",
    )
