"""Backend `ssh`: every node is a process on a machine that is there already, reached by OpenSSH's own client.

The user's ssh configuration holds (jump hosts, agents), one connection a machine is kept and shared by all commands,
and host keys are always checked: against the inventory, or against the user's known hosts.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import shlex
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from harness.backends.base import Backend, end_processes
from harness.backends.remote import RemoteHost
from harness.backends.ssh_connection import Connection, address_of, unreachable
from harness.common.atomic_files import write_aside
from harness.common.errors import environment_error
from harness.distribution.locate import Distribution
from harness.hosts.host import Capability, Host, Output, Process, exports, last_lines
from harness.network import blackhole_routes
from harness.network.link_controller import Links
from harness.network.link_files import APPLIED
from harness.network.namespaces import leave_network
from harness.spec import cluster_state as states
from harness.spec import inventory
from harness.spec.inventory import Machine
from harness.spec.links import LinkState
from harness.spec.topology import Node, Plan

MACHINES = "machines.json"  # in the cluster's folder: the machine of each node
HOSTED = "RACKSPAN_HOSTED"  # environment variable of every process that stays on a machine: its cluster's folder there
T = TypeVar("T")
R = TypeVar("R")

# What nodes need of a machine. The folder must be ours: its name can be foreseen, and /var/tmp is everybody's.
LOOK = """for name in setsid tar grep timeout; do command -v $name > /dev/null || { echo "no $name" >&2; exit 1; }; done
mkdir -p -m 700 -- %(folder)s && [ -O %(folder)s ] || { echo "%(folder)s is not this user's" >&2; exit 1; }
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
observed=$($java -version 2>&1) || { echo "no Java: $observed" >&2; exit 1; }
version=${observed#*version \\"}; version=${version%%%%[!0-9]*}
[ "${version:-0}" -ge 17 ] || { echo "Java 17 or later is needed, not: $observed" >&2; exit 1; }"""


class SshHost(RemoteHost):
    """A machine's folder for one node."""

    def __init__(self, name: str, address: str, root: str, connection: Connection) -> None:
        self.name = name
        self.address = address
        self.root = root
        self.connection = connection

    def inside(self, script: str, seconds: float | None = None, *, terminal: bool = False) -> list[str]:
        self.connection.open()
        home = self.connection.machine.java_home
        java = f"export JAVA_HOME={shlex.quote(home)} PATH={shlex.quote(home)}/bin:$PATH; " if home else ""
        limit = f"timeout -s KILL {seconds + 2:.0f} " if seconds is not None else ""
        # ssh itself ends with 255 where it fails
        there = f"{limit}bash -c {shlex.quote(java + script)}; c=$?; [ $c -ne 255 ] || c=254; exit $c"
        typed = ["-t"] if terminal and sys.stdin is not None and sys.stdin.isatty() else ["-T"]
        return [*self.connection.command("-o", "ControlMaster=no", *typed), self.connection.target, "--", there]

    def check(self, done: Output) -> None:
        if done.code == 255:
            raise unreachable(self.connection, last_lines(done.err))

    def launch(self, script: str) -> Output:
        return self.shell(exports({HOSTED: self.root.rpartition("/")[0]}) + script)


class SshBackend(Backend):
    """Machines of an inventory. Nothing there is delayed; cuts are routes of theirs, where users may change them."""

    name = "ssh"
    capabilities = frozenset({Capability.CUT})

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._machines: dict[str, Machine] | None = None

    @classmethod
    def at(cls, folder: Path) -> SshBackend:
        return cls(folder)

    def host(self, node: Node, root: str) -> Host:
        return self._host(node.name, self.machines()[node.name])

    def prepare(self) -> None:
        if shutil.which("ssh") is None:
            raise environment_error(
                "the backend ssh needs OpenSSH's client", observed="no ssh on PATH", do="install openssh-client"
            )
        leave_network()

    def enter(self) -> None:
        leave_network()

    def bring_up(self, plan: Plan) -> None:
        """Looks at every machine: whether it can be entered, and has what nodes need. Raises RackspanError."""
        self.prepare()
        machines = self.machines()
        write_aside(self.folder / MACHINES, inventory.dump(machines))
        known = {self._connection(m).known_host for m in machines.values()}
        write_aside(self.folder / "known_hosts", "".join(sorted(known)))
        self._each(self._hosts(), self._look)
        self.enter()

    def install(self, wanted: Mapping[str, Distribution]) -> None:
        there = {(self._key(name), self.placed(name, d).home): (name, d) for name, d in wanted.items()}
        self._each(list(there.values()), lambda one: self._bring(*one))

    def placed(self, node: str, distribution: Distribution) -> Distribution:
        name = f"{distribution.version}-{distribution.digest}"
        return Distribution(Path(_base(self.machines()[node])) / "dist" / name)

    def leftovers(self, marker: str) -> list[tuple[Host, Process]]:
        hosts = self._hosts()
        found = self._each(hosts, lambda h: h.marked(HOSTED, self._remote(marker, h)))
        return [(host, process) for host, some in zip(hosts, found, strict=True) for process in some]

    def take_down(self) -> None:
        """Ends every process of the cluster on its machines, and removes its folder there; distributions stay.

        Raises RackspanError if a machine cannot be entered.
        """
        if not (self.folder / MACHINES).exists():  # written before anything is brought to a machine
            return
        hosts = self._hosts()
        self._each(hosts, lambda h: h.connection.open())  # a machine that is gone is no reason to wait
        if (self.folder / APPLIED).exists():
            _route(hosts, {h.name: [] for h in hosts})
        end_processes(self.folder, self)
        self._each(hosts, lambda h: h.run(["rm", "-rf", "--", self._remote(str(self.folder), h)]))
        for host in hosts:
            host.connection.close()

    def faults(self, plan: Plan) -> list[str]:
        return self.links(plan).faults()

    def links(self, plan: Plan) -> Links:
        def enforce(state: LinkState) -> None:
            self._enforce(plan, state)

        return Links(self.folder, plan, self, lambda node: self.host(node, ""), enforce)

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _enforce(self, plan: Plan, state: LinkState) -> None:
        """Gives every machine the routes that the cuts require; nothing where there never was one. Raises
        RackspanError.
        """
        wanted = blackhole_routes.isolated(state, plan, {name: [m.address] for name, m in self.machines().items()})
        if not any(wanted.values()) and not (self.folder / APPLIED).exists():
            return
        write_aside(self.folder / APPLIED, "")
        hosts = self._hosts()
        shared = {  # nodes of one machine send by the same routes
            h.name: sorted({a for name, some in wanted.items() if self._key(name) == self._key(h.name) for a in some})
            for h in hosts
        }
        _route(hosts, shared)

    def machines(self) -> dict[str, Machine]:
        """The machine of each node. Raises FileNotFoundError if the folder has no record of them."""
        if self._machines is None:
            file = self.folder / MACHINES
            state = None if file.exists() else states.load(self.folder)
            if state is not None:
                spec = state.spec
                return inventory.assign(spec.racks, spec.controllers, spec.hosts)
            self._machines = inventory.restore(file.read_text(encoding="utf-8"))
        return self._machines

    def _hosts(self) -> list[SshHost]:
        """One host a machine, the first of those that share it."""
        machines: dict[tuple[str, int], SshHost] = {}
        for name, machine in self.machines().items():
            machines.setdefault(self._key(name), self._host(name, machine))
        return list(machines.values())

    def _key(self, node: str) -> tuple[str, int]:
        machine = self.machines()[node]
        return address_of(machine), machine.port

    def _host(self, name: str, machine: Machine) -> SshHost:
        connection = self._connection(machine)
        return SshHost(name, machine.address, f"{_remote(str(self.folder), machine)}/{name}", connection)

    def _connection(self, machine: Machine) -> Connection:
        return Connection(machine, self.folder)

    @staticmethod
    def _remote(folder: str, host: SshHost) -> str:
        return _remote(folder, host.connection.machine)

    @staticmethod
    def _each(items: Iterable[T], act: Callable[[T], R]) -> list[R]:
        """Does the same to all at once; the first failure is raised when all are done."""
        chosen = list(items)
        with ThreadPoolExecutor(max_workers=max(1, len(chosen))) as pool:
            return [future.result() for future in [pool.submit(act, one) for one in chosen]]

    @staticmethod
    def _look(host: SshHost) -> None:
        done = host.shell(LOOK % {"folder": shlex.quote(_base(host.connection.machine))})
        if done.code != 0:
            raise environment_error(
                f"{host.connection.target} cannot run {host.name}",
                observed=last_lines(done.err),
                do="install what is missing there; see docs/operations/machines.md",
            )

    def _bring(self, node: str, distribution: Distribution) -> None:
        """Brings a distribution to a machine, unless that very build is there."""
        host = self._host(node, self.machines()[node])
        home = str(self.placed(node, distribution).home)
        if host.shell(f"test -d {shlex.quote(home)}").code == 0:
            return
        part = f"{home}.{socket.gethostname()}.{os.getpid()}"
        host.send(str(distribution.home), part)
        quoted = shlex.quote(part)
        host.shell(f"mv -T -- {quoted} {shlex.quote(home)} 2>/dev/null || rm -rf -- {quoted}")  # another was faster


def _route(hosts: list[SshHost], isolated: Mapping[str, Sequence[str]]) -> None:
    """Has each host send nothing to these addresses, by its name. Raises RackspanError."""
    named = {h.name: h for h in hosts}
    blackhole_routes.enforce(isolated, lambda name, script: named[name].shell(script))


def _base(machine: Machine) -> str:
    return machine.folder or f"/var/tmp/rackspan-{machine.user or getpass.getuser()}"


def _remote(folder: str, machine: Machine) -> str:
    """A cluster's folder on a machine: no two drivers, users and state homes share one."""
    own = hashlib.sha256(f"{socket.gethostname()}|{folder}".encode()).hexdigest()[:8]
    return f"{_base(machine)}/clusters/{Path(folder).name}-{own}"
