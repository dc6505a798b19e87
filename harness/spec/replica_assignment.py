"""The replica assignment of a scenario's topic."""

from __future__ import annotations

from collections.abc import Sequence

from harness.spec.topology import Node


def assignment(brokers: Sequence[Node]) -> list[list[int]]:
    """One partition led by each of the brokers, all of them in each, racks in turn."""
    racks = sorted({n.rack for n in brokers})
    by_rack = {rack: [n.id for n in brokers if n.rack == rack] for rack in racks}
    turns = [ids[i] for i in range(max(map(len, by_rack.values()))) for ids in by_rack.values() if i < len(ids)]
    return [turns[i:] + turns[:i] for i in range(len(turns))]
