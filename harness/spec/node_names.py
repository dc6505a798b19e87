"""Names of nodes, from racks and counts."""

from __future__ import annotations

from collections.abc import Mapping


def broker_name(rack: str, number: int) -> str:
    """`a1` for rack a; with a dash where the rack's own name ends with a digit."""
    return f"{rack}-{number}" if rack[-1].isdigit() else f"{rack}{number}"


def controller_name(number: int) -> str:
    """`ctrl-1` for the first controller."""
    return f"ctrl-{number}"


def broker_names(racks: Mapping[str, int]) -> list[str]:
    """Brokers rack by rack."""
    return [broker_name(rack, n) for rack, count in racks.items() for n in range(1, count + 1)]


def controller_names(controllers: int) -> list[str]:
    """Controllers by number."""
    return [controller_name(n) for n in range(1, controllers + 1)]
