"""Hosts without Kafka on them, for tests of backends; as a program also hosts whose harness is killed.

    python -m harness.tests.bare_hosts BACKEND FOLDER    (for ssh: with the inventory in $INVENTORY)

brings hosts up, starts a process on each, prints their pids and measured delays as JSON, and kills itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from harness.backends import BACKENDS
from harness.backends.base import Backend, end_processes
from harness.backends.local import MARKER, LocalBackend
from harness.common.errors import RackspanError
from harness.common.paths import claim_block, release_block
from harness.hosts.host import Host, Process
from harness.network.link_controller import Links
from harness.spec import inventory
from harness.spec.cluster_spec import parse
from harness.spec.cluster_state import State, load
from harness.spec.topology import FIRST_BLOCK, Plan, plan


class Hosts:
    """The hosts of a cluster of three racks, two of them delayed where the backend can."""

    def __init__(self, backend: str, folder: Path, links: dict[str, Any] | None = None) -> None:
        data: dict[str, Any] = {"name": folder.name, "backend": backend, "racks": "a:2,b:1,c:1", "controllers": 1}
        if backend == "ssh":
            data["hosts"] = inventory.load(Path(os.environ["INVENTORY"]))
        spec = parse(data | ({"links": links} if links else {}))
        self.folder = folder
        existing = load(folder)
        self.block = existing.block if existing else claim_block(folder) if backend == "docker" else FIRST_BLOCK
        self.plan: Plan = plan(spec, self.block)
        State(spec=spec, distribution="none", block=self.block, cluster_id="none").save(folder)
        self.backend: Backend = BACKENDS[backend].at(folder)

    def host(self, name: str) -> Host:
        """The host of a node."""
        return self.backend.host(self.plan.node(name), str(self.folder / name))

    @property
    def links(self) -> Links:
        """Delays and cuts between racks."""
        return self.backend.links(self.plan)

    def start(self, name: str, *command: str) -> Process:
        """Starts a process on a host as nodes are started."""
        host = self.host(name)
        env = {MARKER: str(self.folder), "GREETING": "hello 'world'"}
        return host.start(command, pid_file=f"{host.root}/pid", output=f"{host.root}/out", env=env)

    def end(self) -> None:
        """Ends all processes and removes the network."""
        self.backend.take_down()
        end_processes(self.folder, LocalBackend())
        release_block(self.folder, self.block)
        with suppress(RackspanError):  # an ordinary user's process stays where it is
            LocalBackend().enter()


@contextmanager
def hosts_of(backend: str, folder: Path, links: dict[str, Any] | None = None) -> Iterator[Hosts]:
    """Runs hosts for the time of a `with` block."""
    hosts = Hosts(backend, folder, links)
    try:
        hosts.backend.prepare()
        hosts.backend.bring_up(hosts.plan)
        yield hosts
    finally:
        hosts.end()


def main() -> None:
    """Brings hosts up, starts processes, prints them, and kills itself."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    hosts = Hosts(name, folder, {"default": "8ms"} if name == "netns" else None)
    hosts.backend.prepare()
    hosts.backend.bring_up(hosts.plan)
    pids = [hosts.start(n.name, "sh", "-c", "sleep 600 & exec sleep 600").pid for n in hosts.plan.nodes]
    observed = [s.as_dict() for s in hosts.links.check()] if name == "netns" else []
    print(json.dumps({"pids": pids, "observed": observed}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
