"""Facts of a run that every part of a check knows: settings of producers, replicas read, states of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spark_analysis.checker.columns import Array

Place = tuple[str, int]  # topic, partition
BUCKET_BITS = 20
REFUSED = (
    # Errors that mean that the record was not appended. After any other error it may be in the log.
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_RACKS",
    "INCONSISTENT_REPLICA_CONFIGURATION",
    "RECORD_TOO_LARGE",
    "INVALID_REQUIRED_ACKS",
)
SHORTAGE = {
    "ack-under-racks": ("NOT_ENOUGH_RACKS", "NOT_ENOUGH_RACKS_AFTER_APPEND"),
    "ack-under-replicas": ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
    "ack-not-in-ledger": (),
}
_QUORUM = ("min.insync.replicas", "-2")
_WAITING = ("all", "-1", *_QUORUM)


@dataclass(frozen=True)
class Settings:
    """Settings of a producer; of one without a note the strictest are assumed.

    `waits`: its acks wait for other replicas; `once`: a record may be in the log once only (idempotence, or a single
    attempt); `final`: it does not retry; `quorum`: its acks are min.insync.replicas, and an election may lose what they
    acknowledge; `by_set`: the same acks at level 2 of rackspan.version, where it must not; `size`: bytes of a value, 0
    if not known.
    """

    waits: bool = True
    once: bool = True
    final: bool = False
    quorum: bool = False
    by_set: bool = False
    size: int = 0


@dataclass(frozen=True)
class Stretch:
    """A time in which a partition had too few racks, or replicas, in sync, by the metadata log.

    `sure_ns`: from then on its leader knew, whoever it was. `epoch`: the first leader epoch that began in it: such a
    leader knew from its start. `isr`: the in-sync replicas at the end.
    """

    begin_ns: int
    end_ns: int
    sure_ns: int
    epoch: int
    isr: str


@dataclass(frozen=True)
class Facts:
    """`expected`: the nodes whose logs were read, by place; `complete`: places of which every log was read.

    `epochs`: leader epochs that the metadata log has; `short`: stretches by rule and place; `ledger`: the ranges of
    offsets, from the first to before the last, that are known to have been acknowledged in fewer racks than promised.
    """

    producers: dict[str, Settings] = field(default_factory=dict)
    expected: dict[Place, tuple[str, ...]] = field(default_factory=dict)
    complete: frozenset[Place] = frozenset()
    epochs: dict[Place, tuple[int, ...]] = field(default_factory=dict)
    short: dict[str, dict[Place, tuple[Stretch, ...]]] = field(default_factory=dict)
    bits: int = BUCKET_BITS
    ledger: dict[Place, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def in_ledger(self, place: Place, offsets: Array) -> Array:
        """True for the offsets that are in a range of the ledger."""
        found = np.zeros(len(offsets), bool)
        for begin, end in self.ledger.get(place, ()):
            found |= (offsets >= begin) & (offsets < end)
        return found

    def is_complete(self, place: Place) -> bool:
        """True if every log of the partition was read; of an unknown partition, if that holds for all."""
        return place in self.complete or (place[1] < 0 and len(self.complete) == len(self.expected))

    def settings_of(self, producer: str) -> Settings:
        """The settings of one producer."""
        return self.producers.get(producer, Settings())

    def settings(self, names: Sequence[str]) -> dict[str, Array]:
        """Each setting as an array over these producers."""
        known = [self.settings_of(name) for name in names]
        names_of = ("waits", "once", "final", "quorum", "by_set")
        return {name: np.array([getattr(one, name) for one in known]) for name in names_of}


def producers(events: Sequence[dict[str, Any]], level: int = 1) -> dict[str, Settings]:
    """The settings that the producers' notes say, on a cluster at that level of rackspan.version."""
    notes = [e["data"] for e in events if (e["kind"], e["name"]) == ("note", "producer")]
    return {data["producer"]: _settings(data, level) for data in notes}


def _settings(data: dict[str, Any], level: int) -> Settings:
    acks, final = str(data.get("acks", "all")), data.get("retries") == 0
    once = final or bool(data.get("idempotence", True))
    early = acks in _QUORUM
    return Settings(acks in _WAITING, once, final, early and level < 2, early and level >= 2, int(data.get("size", 0)))
