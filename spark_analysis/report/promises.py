"""The promise of an acknowledgement in each acks mode, and what such a record survives (docs/reference/acks.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EARLY = ("min.insync.replicas", "-2")
_REPLICAS, RACKS, _SCOPE = "min.insync.replicas", "min.insync.racks", "acks.all.scope"
STOCK = "stock"  # the distribution that knows nothing of racks


def required(settings: Mapping[str, Any]) -> tuple[int, int]:
    """The in-sync replicas and the racks that the settings of a topic require."""
    replicas, racks = (int(settings.get(name, 1)) for name in (_REPLICAS, RACKS))
    return replicas, racks


def waits(acks: str) -> bool:
    """True if the answer waits for any follower."""
    return acks not in ("0", "1")


def is_early(acks: str, settings: Mapping[str, Any]) -> bool:
    """True if the answer comes before every in-sync replica has the record."""
    return acks in EARLY or (acks == "all" and settings.get(_SCOPE) in EARLY)


def promise(acks: str, settings: Mapping[str, Any]) -> str:
    """The promise of an acknowledgement, with the settings of the topic; empty where these are not known."""
    required = ", ".join(f"{name}={settings[name]}" for name in (_REPLICAS, RACKS) if name in settings)
    if not required:
        return ""
    if is_early(acks, settings):
        how = f"acks={acks}" if acks in EARLY else "acks=all, acks.all.scope=min.insync.replicas"
        return f"{how} ({required}): that many in-sync replicas had the record; a move to a leader that lags loses it."
    if acks == "all":
        return f"acks=all ({required}): all in-sync replicas had the record; no move or crash of a leader loses it."
    return ""


def survives(acks: str, settings: Mapping[str, Any]) -> str:
    """The loss, disks included, that a record survives after its acknowledgement, in any election and at least."""
    replicas, racks = required(settings)
    if not waits(acks) or (replicas < 2 and racks < 2):
        return "no broker"
    lost = _some(racks - 1, "rack") if racks > 1 else _some(replicas - 1, "broker")
    return f"{lost}, unless a replica that lags is elected" if is_early(acks, settings) else lost


def _some(number: int, what: str) -> str:
    return f"any {what}" if number == 1 else f"any {number} {what}s"
