"""Which faults a cycle has: drawn from a seed, so that the seed replays them. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from harness.faults.unflushed import Tail

What = Literal[
    "kill", "stop", "pause", "power_cut", "roll_stop", "roll_kill", "move_leaders", "change_config", "cut_behind_pause"
]
Whom = Literal["node", "rack", "leader", "controller", "all"]

# How often each is drawn, by weight. A power cut is what racks are for.
_WEIGHTS: dict[tuple[What, Whom], int] = {
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
    ("roll_stop", "all"): 1,
    ("roll_kill", "all"): 1,
    ("move_leaders", "all"): 1,
    ("change_config", "all"): 1,
}
_TAILS: tuple[Tail, ...] = ("none", "torn", "zeros")


@dataclass(frozen=True)
class Fault:
    """One fault: what is done to whom, for how many seconds.

    `target` is a rack or a node; "" is found when the time comes (the leader). `other` is the rack that is frozen while
    the target's power is cut.
    """

    what: What
    whom: Whom
    target: str
    seconds: float
    tail: Tail = "none"
    other: str = ""

    @property
    def kind(self) -> str:
        """For counting."""
        return f"{self.what} {self.whom}"

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def schedule(
    seed: int, cycle: int, racks: Sequence[str], brokers: Sequence[str], controllers: Sequence[str], most: int = 2
) -> list[Fault]:
    """The faults of one cycle, one after another: a function of its arguments alone."""
    rng = random.Random(f"{seed}/{cycle}")  # a text: the same on every Python
    return [_draw(rng, racks, brokers, controllers) for _ in range(rng.randint(1, most))]


def _draw(rng: random.Random, racks: Sequence[str], brokers: Sequence[str], controllers: Sequence[str]) -> Fault:
    what, whom = rng.choices(list(_WEIGHTS), weights=list(_WEIGHTS.values()))[0]
    seconds = round(rng.uniform(2.0, 5.0), 1)
    tail = rng.choice(_TAILS)
    rack, other = rng.sample(list(racks), 2)
    target = {
        "rack": rack,
        "node": rng.choice(list(brokers)),
        "controller": rng.choice(list(controllers)),
        "leader": "",
        "all": "",
    }[whom]
    cut = what in ("power_cut", "cut_behind_pause")
    return Fault(what, whom, target, seconds, tail if cut else "none", other if what == "cut_behind_pause" else "")
