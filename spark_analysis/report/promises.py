"""The promise of an acknowledgement in each acks mode, and what such a record survives (docs/reference/acks.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EARLY = ("min.insync.replicas", "-2")
_REPLICAS, RACKS, _SCOPE = "min.insync.replicas", "min.insync.racks", "acks.all.scope"
ELECTABLE_SETS = 2  # the level from which on partitions have them
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


def may_lag(acks: str, settings: Mapping[str, Any], level: int | None) -> bool:
    """True if a replica that lacks the record may be elected. From level 2 of rackspan.version on, only members of the
    electable set are; None, as in runs that do not say it, is a lower one.
    """
    return is_early(acks, settings) and (level or 1) < ELECTABLE_SETS


def has_set(mode: Mapping[str, Any]) -> bool:
    """True for a mode with acks=min.insync.replicas at a level of rackspan.version that has electable sets."""
    return mode.get("acks") in EARLY and (mode.get("level") or 1) >= ELECTABLE_SETS


def promise(acks: str, settings: Mapping[str, Any], level: int | None = None) -> str:
    """The promise of an acknowledgement, with the settings of the topic and the level of rackspan.version; empty where
    the settings are not known.
    """
    required = ", ".join(f"{name}={settings[name]}" for name in (_REPLICAS, RACKS) if name in settings)
    if not required:
        return ""
    if is_early(acks, settings):
        how = f"acks={acks}" if acks in EARLY else "acks=all, acks.all.scope=min.insync.replicas"
        if may_lag(acks, settings, level):
            return (
                f"{how} ({required}): that many in-sync replicas had the record; a move to a leader that lags loses it."
            )
        return f"{how} ({required}): all who may be elected had the record; no move or crash of a leader loses it."
    if acks == "all":
        return f"acks=all ({required}): all in-sync replicas had the record; no move or crash of a leader loses it."
    return ""


def survives(acks: str, settings: Mapping[str, Any], level: int | None = None) -> str:
    """The loss, disks included, that a record survives after its acknowledgement, in any election and at least."""
    replicas, racks = required(settings)
    if not waits(acks) or (replicas < 2 and racks < 2):
        return "no broker"
    lost = _some(racks - 1, "rack") if racks > 1 else _some(replicas - 1, "broker")
    return f"{lost}, unless a replica that lags is elected" if may_lag(acks, settings, level) else lost


def _some(number: int, what: str) -> str:
    return f"any {what}" if number == 1 else f"any {number} {what}s"
