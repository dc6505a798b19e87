"""Clusters, topics and losses drawn by seed, and what was predicted of them beside what happened."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

RACKS = "abcd"
MOST_BROKERS = 6
TOPICS = 5
LOSSES = 3


@dataclass(frozen=True)
class DrawnTopic:
    """A topic with one partition."""

    name: str
    replicas: tuple[int, ...]
    settings: dict[str, object]

    @property
    def follows_default(self) -> bool:
        """True if it has no min.insync.racks of its own."""
        return "min_insync_racks" not in self.settings


@dataclass(frozen=True)
class DrawnLoss:
    """Brokers that are taken away at once, all of some racks or any, while one may be `down` already."""

    brokers: frozenset[int]
    racks: tuple[str, ...]
    down: frozenset[int]
    how: Literal["kill", "stop"]

    @property
    def what(self) -> str:
        """As the tool takes it: racks, or broker ids."""
        return ",".join(f"rack:{r}" for r in self.racks) or ",".join(map(str, sorted(self.brokers)))


@dataclass(frozen=True)
class DrawnCluster:
    """Brokers 1, 2 and so on by rack, topics, and losses that leave at least one broker."""

    seed: int
    racks: dict[str, tuple[int, ...]]
    topics: tuple[DrawnTopic, ...]
    losses: tuple[DrawnLoss, ...]
    min_racks: int

    @property
    def spec(self) -> str:
        """The racks as a specification has them."""
        return ",".join(f"{rack}:{len(brokers)}" for rack, brokers in self.racks.items())


def draw(seed: int) -> DrawnCluster:
    """Two to four racks of unequal size, topics with three to five replicas, and losses of racks and of brokers."""
    chance = random.Random(seed)
    count = chance.randint(4, MOST_BROKERS)
    names = RACKS[: chance.randint(2, 4)]
    places = [*names, *(chance.choice(names) for _ in range(count - len(names)))]
    brokers = iter(range(1, count + 1))
    racks = {rack: tuple(next(brokers) for _ in range(places.count(rack))) for rack in names}
    topics = tuple(_topic(chance, f"t{n}", count, len(names)) for n in range(TOPICS))
    return DrawnCluster(seed, racks, topics, tuple(_loss(chance, racks) for _ in range(LOSSES)), chance.randint(2, 3))


def _topic(chance: random.Random, name: str, brokers: int, racks: int) -> DrawnTopic:
    replicas = tuple(chance.sample(range(1, brokers + 1), min(chance.randint(3, 5), brokers)))
    settings: dict[str, object] = {"min_insync_replicas": chance.randint(1, 3)}
    if chance.random() < 0.6:
        settings["min_insync_racks"] = chance.randint(1, min(racks, 3))
    return DrawnTopic(name, replicas, settings)


def _loss(chance: random.Random, racks: dict[str, tuple[int, ...]]) -> DrawnLoss:
    every = [broker for brokers in racks.values() for broker in brokers]
    how: Literal["kill", "stop"] = "stop" if chance.random() < 0.4 else "kill"
    if how == "kill" and chance.random() < 0.7:
        chosen = tuple(sorted(chance.sample(sorted(racks), chance.randint(1, len(racks) - 1))))
        lost = frozenset(broker for rack in chosen for broker in racks[rack])
    else:
        chosen = ()
        lost = frozenset(chance.sample(every, chance.randint(1, max(1, len(every) // 2))))
    others = sorted(set(every) - lost)
    down = frozenset([chance.choice(others)]) if len(others) > 1 and chance.random() < 0.4 else frozenset()
    return DrawnLoss(lost, chosen, down, how)


@dataclass
class AnswerCounts:
    """Answers beside what happened. Yes where it was no is unsafe, no where it was yes is pessimistic."""

    right: int = 0
    unknown: int = 0
    pessimistic: list[str] = field(default_factory=list)
    unsafe: list[str] = field(default_factory=list)

    def evaluate(self, predicted: str, observed: bool, text: str) -> None:
        """Notes one answer. Raises AssertionError for a word that is none."""
        assert predicted in ("yes", "no", "unknown"), f"{predicted!r}: {text}"
        if predicted == "unknown":
            self.unknown += 1
        elif (predicted == "yes") == observed:
            self.right += 1
        else:
            (self.unsafe if predicted == "yes" else self.pessimistic).append(text)

    @property
    def total(self) -> int:
        """All answers."""
        return self.right + self.unknown + len(self.pessimistic) + len(self.unsafe)

    def as_dict(self) -> dict[str, Any]:
        """For the run's events."""
        return {
            "answers": self.total,
            "right": self.right,
            "unknown": self.unknown,
            "pessimistic": len(self.pessimistic),
            "unsafe": len(self.unsafe),
        }


def suffers(before: dict[str, bool], after: dict[str, bool]) -> bool:
    """True if a topic lost something that it had: `readable`, or `writable` with acks=all."""
    return any(before[what] and not after[what] for what in ("readable", "writable"))


def touched(topics: Iterable[DrawnTopic], brokers: Iterable[int]) -> list[DrawnTopic]:
    """The topics that have a replica on these brokers."""
    return [topic for topic in topics if set(topic.replicas) & set(brokers)]
