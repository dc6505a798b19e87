"""Leftovers of killed sessions of system tests."""

from __future__ import annotations

import re

import psutil

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
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
