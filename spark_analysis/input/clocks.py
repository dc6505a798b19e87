"""The clocks of a run: times of records and of events are joined on the monotonic clock, which nobody sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# A line of a client is noted within moments; monotonic clocks of two machines differ by when they were started.
_MOMENT_NS = 60_000_000_000


@dataclass(frozen=True)
class ProducerClocks:
    """The producers that a run noted: those whose monotonic clock is the run's own, and of each one on another machine
    by how much its wall clock was ahead of its monotonic clock (ns).
    """

    own: frozenset[str]
    elsewhere_ahead_ns: Mapping[str, int]


def producer_clocks(events: Sequence[dict[str, Any]]) -> ProducerClocks:
    """The clocks of the producers in the events of a run."""
    own: set[str] = set()
    elsewhere: dict[str, int] = {}
    for event in events:
        data = event["data"]
        if (event["kind"], event["name"]) != ("note", "producer") or "anchor_mono_ns" not in data:
            continue
        if abs(event["mono_ns"] - data["mono_ns"]) <= _MOMENT_NS:
            own.add(data["producer"])
        else:
            elsewhere[data["producer"]] = data["anchor_epoch_ns"] - data["anchor_mono_ns"]
    return ProducerClocks(frozenset(own), elsewhere)
