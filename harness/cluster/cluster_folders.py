"""Folders of the clusters of this state home, and the lock of each."""

from __future__ import annotations

import contextlib
from pathlib import Path

from harness.common.paths import clusters_folder, locked
from harness.spec import cluster_state


def names() -> list[str]:
    """Names of all clusters of this state home."""
    folder = clusters_folder()
    return sorted(p.name for p in folder.iterdir() if (p / cluster_state.FILE).exists()) if folder.is_dir() else []


def remains() -> list[str]:
    """Names of all clusters, and of folders whose state file is missing or unreadable."""
    folder = clusters_folder()
    return sorted(p.name for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []


def alone(name: str) -> contextlib.AbstractContextManager[None]:
    """Keeps other commands off a cluster for the time of a `with` block. Raises RackspanError if one works on it."""
    return locked(_locks() / name, busy=f"cluster {name!r} is busy")


def running_alone(name: str) -> contextlib.AbstractContextManager[None]:
    """Keeps other runs off a name for the time of a `with` block. Raises RackspanError if a run has it."""
    return locked(_locks() / f"{name}.run", busy=f"cluster {name!r} belongs to a run that continues")


def _locks() -> Path:
    return clusters_folder().parent / "locks"
