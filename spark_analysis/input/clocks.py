"""The clocks of a run: times of records and of events are joined on the monotonic clock, which nobody sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# A line of a client is noted within moments; monotonic clocks of two machines differ by when they were started.
_MOMENT_NS = 60_000_000_000


def noted(events: Sequence[dict[str, Any]]) -> dict[str, int | None]:
    """Each producer that the run noted: None where its monotonic clock is the run's own, else (a client on another
    machine) by how much its wall clock was ahead of its monotonic clock (ns).
    """
    found: dict[str, int | None] = {}
    for event in events:
        data = event["data"]
        if (event["kind"], event["name"]) != ("note", "producer") or "anchor_mono_ns" not in data:
            continue
        own = abs(event["mono_ns"] - data["mono_ns"]) <= _MOMENT_NS
        found[data["producer"]] = None if own else data["anchor_epoch_ns"] - data["anchor_mono_ns"]
    return found
