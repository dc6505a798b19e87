"""Racks that the in-sync replicas of each topic are in, against the required number: pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.cluster.cluster_view import View


@dataclass(frozen=True)
class Span:
    """A topic: `racks` that the in-sync replicas are in, `requested` by min.insync.racks (0: it has no such setting),
    and `placed`, the racks that replicas are in at all; each of the partition that is worst off. `leaderless` counts.
    """

    topic: str
    partitions: int
    leaderless: int
    racks: int
    requested: int
    placed: int

    @property
    def enough(self) -> bool:
        """True if every partition has a leader and in-sync replicas in enough racks to take writes."""
        return self.leaderless == 0 and self.racks >= self.requested


def spans(view: View, racks: Mapping[int, str], requested: Mapping[str, int]) -> list[Span]:
    """The spans of all topics, by name; `racks` has the rack of each broker, whether it runs or not."""
    found = []
    for topic in sorted({p.topic for p in view.partitions}):
        mine = [p for p in view.partitions if p.topic == topic]
        in_sync = [len({racks.get(b, "") for b in p.isr}) if p.leader >= 0 else 0 for p in mine]
        placed = min(len({racks.get(b, "") for b in p.replicas}) for p in mine)
        leaderless = sum(p.leader < 0 for p in mine)
        found.append(Span(topic, len(mine), leaderless, min(in_sync), requested.get(topic, 0), placed))
    return found
