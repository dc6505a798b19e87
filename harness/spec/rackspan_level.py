"""The level of rackspan.version that a spec gives to a new cluster, or that it has without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FEATURE = "rackspan.version"

# What brings each level, the highest first: a new cluster is at the highest that its distribution has.
_BROUGHT_BY = {2: "electable-set.patch", 1: "rackspan-version.patch"}


def at_level(level: int) -> dict[str, Any]:
    """The part of a spec for a cluster that is formatted at that level."""
    return {"features": {"eligible.leader.replicas.version": 1, FEATURE: level}}


def formatted_level(features: Mapping[str, int], patches: Sequence[str]) -> int:
    """The level of a new cluster with these features in its spec, of a distribution with these patches."""
    return features.get(FEATURE, next((level for level, patch in _BROUGHT_BY.items() if patch in patches), 0))
