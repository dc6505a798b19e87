"""Installs and builds the clients that are no Python packages, with the tools of this machine."""

from __future__ import annotations

import shutil

from harness.common.errors import RackspanError
from harness.common.progress import Progress
from harness.distribution.build import gradle

# Gradle task -> the tool it needs beside Gradle, if any.
TASKS = {"oldJavaClient": "", "sparkConnector": "", "nodeClient": "npm", "goClient": "go"}


def prepare(progress: Progress) -> None:
    """Brings all clients up to date. A client that cannot be built is reported and skipped."""
    able = [task for task, tool in TASKS.items() if not tool or shutil.which(tool)]
    for task in TASKS.keys() - able:
        progress.note(f"no {TASKS[task]} on this machine: install it, or its clients are not run")
    try:
        gradle(["--continue", *able], "third-party clients", progress)
    except RackspanError as e:
        progress.note(f"some clients are not run: {e.observed}")
