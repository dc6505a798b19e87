"""Topics whose writes are refused because too few replicas or racks are in sync: pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from harness.cluster.cluster_view import Partition

MIN_RACKS, MIN_REPLICAS = "min.insync.racks", "min.insync.replicas"
# These require no more than their partition has (docs/operations/guide.md, settings that can never be met).
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__remote_log_metadata"})


@dataclass(frozen=True)
class RefusedTopic:
    """A topic of which `partitions` refuse writes with acks=all: too few racks, or else replicas, are in sync."""

    topic: str
    partitions: int
    too_few: Literal["racks", "replicas"]


def refused(
    partitions: Iterable[Partition], racks: Mapping[int, str], settings: Mapping[str, Mapping[str, str]]
) -> list[RefusedTopic]:
    """The topics that refuse writes, by name.

    `racks` has the rack of each broker, whether it runs or not; `settings` the values in force by topic and name. A
    partition without a leader is not counted: it takes no request at all.
    """
    found: dict[str, list[Literal["racks", "replicas"]]] = {}
    for p in partitions:
        values = settings.get(p.topic, {})
        placed = len({racks.get(b, "") for b in p.replicas})
        span, most = len({racks.get(b, "") for b in p.isr}), placed if p.topic in INTERNAL else None
        need_racks, need_replicas = int(values.get(MIN_RACKS, 1)), int(values.get(MIN_REPLICAS, 1))
        if p.leader < 0:
            continue
        if span < (need_racks if most is None else min(need_racks, most)):
            found.setdefault(p.topic, []).append("racks")
        elif len(p.isr) < min(need_replicas, len(p.replicas)):
            found.setdefault(p.topic, []).append("replicas")
    return [RefusedTopic(t, len(why), "racks" if "racks" in why else "replicas") for t, why in sorted(found.items())]


def reasons(topics: Iterable[RefusedTopic], shown: int = 5) -> list[str]:
    """A sentence for each cause, with the names of the first topics."""
    texts = []
    for cause in ("racks", "replicas"):
        names = [t.topic for t in topics if t.too_few == cause]
        if names:
            more = f" and {len(names) - shown} more" if len(names) > shown else ""
            noun = "topic" if len(names) == 1 else "topics"
            text = f"writes to {len(names)} {noun} are refused: too few {cause} in sync: {', '.join(names[:shown])}"
            texts.append(text + more)
    return texts
