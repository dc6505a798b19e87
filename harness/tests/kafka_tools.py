"""Kafka's own tools as tests run them: quickly started."""

from __future__ import annotations

from functools import cache

from harness.cluster.class_archive import archive_for
from harness.cluster.jvm_options import JvmOptions
from harness.distribution.locate import find


@cache
def tool_environment(distribution: str, logs: str = "") -> dict[str, str]:
    """Environment in which the scripts of a distribution, "rackspan" or "stock", start fast and log to that folder."""
    return JvmOptions("quick", archive_for(find(distribution))).tool_environment(logs)
