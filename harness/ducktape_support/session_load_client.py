"""The resident load client of a session of system tests: found by its tests, ended with it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.common.jvm_flags import QUICK
from harness.distribution.locate import Distribution, find
from harness.ducktape_support.shared_clusters import PIPE
from harness.hosts.host import Host
from harness.load.client import LoadClient
from harness.load.command import java_command, load_jar
from harness.load.process import LoadProcess
from harness.load.resident import ResidentClient
from harness.network.namespaces import network

FOLDER = "RACKSPAN_LOAD_CLIENT"  # environment of tests: where this session's resident load client is
# Clients live for seconds: a fast start is worth more than fast code.
JVM = ("-Xmx128m", *QUICK, "-Xshare:auto")


def start_client(
    context: Any, distribution: Distribution, args: Sequence[str], log: Path, host: Host | None = None
) -> LoadClient:
    """Starts a run of the load client: served by the resident one where that has the same client library and network,
    else a process of its own.
    """
    resident = _of_session()
    usual = find(context.globals.get("distribution", "rackspan"))
    command = java_command(load_jar(), distribution.home / "libs", args, jvm=JVM)
    placed = command if host is None else host.argv(command)
    if resident is not None and distribution.home == usual.home and placed == command:
        return ResidentClient(resident[0], resident[1], distribution.home / "libs").run(args, log)
    return LoadProcess(placed, log)


@contextmanager
def session_load_client(folder: Path) -> Iterator[dict[str, str]]:
    """The environment by which the tests of a session find its load client, started at the first need.

    It ends with the session's pipe, which is to be closed inside the block; behind the block it is gone.
    """
    yield {FOLDER: str(folder)}
    for place in sorted(folder.glob("*/")):
        ResidentClient(place, -1, Path()).wait_ended()


def _of_session() -> tuple[Path, int] | None:
    """Folder for the network that this thread is in, and the session's pipe; None without a session."""
    folder, pipe = os.environ.get(FOLDER), os.environ.get(PIPE)
    return (Path(folder) / str(network()[1]), int(pipe)) if folder and pipe else None
