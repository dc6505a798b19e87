"""The parts of a spec that give a new cluster a level of rackspan.version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PRODUCTION = 1  # levels above need unstable feature versions


def at_level(level: int, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Features and settings of a cluster that is formatted at that level, these settings among them."""
    return {
        "features": {"eligible.leader.replicas.version": 1, "rackspan.version": level},
        "settings": ({"unstable.feature.versions.enable": "true"} if level > PRODUCTION else {}) | dict(settings or {}),
    }
