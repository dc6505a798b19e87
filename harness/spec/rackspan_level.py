"""The parts of a spec that give a new cluster a level of rackspan.version."""

from __future__ import annotations

from typing import Any

PRODUCTION = 1  # levels above need unstable feature versions


def at_level(level: int) -> dict[str, Any]:
    """Features and settings of a cluster that is formatted at that level."""
    return {
        "features": {"eligible.leader.replicas.version": 1, "rackspan.version": level},
        "settings": {"unstable.feature.versions.enable": "true"} if level > PRODUCTION else {},
    }
