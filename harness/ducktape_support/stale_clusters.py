"""Leftovers of killed sessions of system tests."""

from __future__ import annotations

import os
import re

from harness.cluster.cluster_folders import names
from harness.cluster.lifecycle import remove


def remove_abandoned() -> list[str]:
    """Ends clusters of test processes that are gone, such as those of a killed session; returns their names."""
    gone = []
    for name in names():
        match = re.fullmatch(r"test-(\d+)-\d+", name)
        if match and not _alive(int(match[1])):
            remove(name)
            gone.append(name)
    return gone


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
