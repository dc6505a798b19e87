"""Backend `netns`: every node is a host with a network of its own on this machine, racks are bridges, and what passes
between racks can be delayed and cut. Needs user namespaces or root, and iptables.

The process that drives a cluster enters the cluster's router: from there all hosts are reached without delay.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.backends.base import Backend
from harness.backends.local import LocalBackend, LocalHost, processes_with
from harness.common.errors import RackspanError, environment_error
from harness.common.paths import project_root
from harness.common.wait import Pending, wait_for
from harness.hosts.host import Capability, Host, Output, Process, ProcessState, last_lines, state_from_stat
from harness.network import namespaces
from harness.network.link_controller import Links
from harness.network.link_files import DAEMON, DAEMON_LOG, wait_applied
from harness.spec.links import LinkState
from harness.spec.topology import Node, Plan

OWNER = "RACKSPAN_NETWORK_OF"  # environment variable of a delay daemon: the cluster's folder
_liveness_pipes: dict[Path, int] = {}  # our ends of the liveness pipes of clusters that end with this process
_entered: dict[Path, tuple[int, int]] = {}  # networks that this process went to
_children: dict[Path, subprocess.Popen[bytes]] = {}


class NetnsHost(LocalHost):
    """A network of its own; files and process ids are this machine's."""

    def __init__(self, name: str, address: str, root: str, backend: NetnsBackend) -> None:
        super().__init__(name, address, root)
        self._backend = backend

    def argv(self, command: Sequence[str]) -> list[str]:
        return self._backend.inside(self.name, command)

    def launch(self, script: str) -> Output:
        """As `shell`, but what stays behind belongs to the delay daemon, and ends with it."""
        return self._run(self._backend.inside(self.name, ["/bin/bash", "-c", script], stay=True), script, 60.0)


class NetnsBackend(Backend):
    """Network namespaces of this machine, held by one process a cluster."""

    name = "netns"
    capabilities = frozenset({Capability.DELAY, Capability.CUT, Capability.SLOW})

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._daemon: tuple[Process, dict[str, int]] | None = None

    @classmethod
    def at(cls, folder: Path) -> NetnsBackend:
        return cls(folder)

    def host(self, node: Node, root: str) -> Host:
        return NetnsHost(node.name, node.address, root, self)

    def leftovers(self, marker: str) -> list[tuple[Host, Process]]:
        return LocalBackend().leftovers(marker)

    # ---- the network -------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        namespaces.become_capable(self._user_namespace())

    def bring_up(self, plan: Plan) -> None:
        """Makes the network of the cluster, if it has none; it ends with this process unless it is let go.

        Raises RackspanError (exit code 4 where the machine does not allow it).
        """
        if self._alive() is None:
            self._start(plan)
        self.enter()

    def is_up(self) -> bool:
        return self._alive() is not None

    def faults(self, plan: Plan) -> list[str]:
        return self.links(plan).faults() if self.is_up() else []

    def let_go(self) -> None:
        """Lets the cluster outlive this process from now on."""
        liveness_pipe = _liveness_pipes.pop(self.folder, None)
        if liveness_pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(liveness_pipe, b"x")
            os.close(liveness_pipe)

    def enter(self) -> None:
        """Moves this thread, and those that it starts later, to where hosts can be reached. Raises RackspanError."""
        process, _ = self._must()
        try:
            namespaces.become_capable(f"/proc/{process.pid}/ns/user")
            namespaces.enter_network(f"/proc/{process.pid}/ns/net")
            _entered[self.folder] = namespaces.network()
        except OSError as e:
            raise environment_error(
                "cannot enter the network of the cluster",
                observed=f"{e.strerror or e}",
                do="work with it as the user who brought it up, in a process that works with no other user's cluster",
            ) from e

    def take_down(self) -> None:
        """Ends the network and every process on its hosts; none there is success. Raises WaitTimeout."""
        if _entered.pop(self.folder, None) == namespaces.network():
            with contextlib.suppress(RackspanError):  # an ordinary user has to stay
                namespaces.leave_network()
        liveness_pipe = _liveness_pipes.pop(self.folder, None)
        if liveness_pipe is not None:
            os.close(liveness_pipe)

        def gone() -> bool | Pending:
            if self.folder in _children:
                _children[self.folder].poll()
            left = processes_with(OWNER, str(self.folder))
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            return Pending(f"processes {', '.join(str(p.pid) for p in left)}") if left else True

        wait_for(f"the network of {self.folder.name} to end", gone, 30, every=0.02, do="see `ps` for what does not end")
        _children.pop(self.folder, None)
        self._daemon = None

    def links(self, plan: Plan) -> Links:
        return Links(self.folder, plan, self, lambda node: self.host(node, str(self.folder / node.name)), self._enforce)

    # ---- inside ------------------------------------------------------------------------------------------------------

    def inside(self, node: str, command: Sequence[str], *, stay: bool = False) -> list[str]:
        """The command line that runs `command` on a node's host; with `stay` it ends with the delay daemon."""
        process, networks = self._must()
        proc = f"/proc/{process.pid}"
        user = [] if namespaces.same(f"{proc}/ns/user", "/proc/self/ns/user") else [f"--user={proc}/ns/user"]
        spaces = [*user, f"--net={proc}/fd/{networks[node]}", *([f"--pid={proc}/ns/pid"] if stay else [])]
        return ["nsenter", "--preserve-credentials", *spaces, "--", *command]

    def _start(self, plan: Plan) -> None:
        self.prepare()
        (self.folder / DAEMON).unlink(missing_ok=True)
        links = self.links(plan)
        links.write()
        reader, writer = os.pipe()
        os.set_inheritable(reader, True)
        _liveness_pipes[self.folder] = writer
        log = self.folder / DAEMON_LOG
        try:
            unshare = ["unshare", "--pid", "--fork", "--kill-child", "--"]
            with log.open("wb") as out:
                child = subprocess.Popen(
                    [*unshare, sys.executable, "-m", "harness.network.delay_daemon", str(self.folder), str(reader)],
                    cwd=project_root(),
                    env={**os.environ, OWNER: str(self.folder)},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    pass_fds=(reader,),
                    start_new_session=True,
                )
        finally:
            os.close(reader)
        _children[self.folder] = child

        def there() -> bool | Pending:
            if child.poll() is not None:
                observed = last_lines(log.read_text(errors="replace")) or f"exit code {child.returncode}"
                raise _NoNetwork(observed)
            return self._alive() is not None or Pending("it is being made")

        try:
            wait_for("the network of the hosts", there, 60, every=0.02, at_once=_NoNetwork, do=f"read {log}")
        except _NoNetwork as e:
            self.take_down()
            raise environment_error(
                "cannot make the network of the hosts",
                observed=str(e),
                do="install what is missing (`rackspan doctor` names it), or use the backend local",
            ) from None
        wait_applied(self.folder)

    def _user_namespace(self) -> str | None:
        """The user namespace of this user's other clusters in this state home: one process can then work with all."""
        if namespaces.capable():
            return None
        for other in sorted(self.folder.parent.glob(f"*/{DAEMON}")):
            found = _read(other)
            if found is not None:
                return f"/proc/{found[0].pid}/ns/user"
        return None

    def _alive(self) -> tuple[Process, dict[str, int]] | None:
        if self._daemon is None or _stat(self._daemon[0]) is ProcessState.GONE:
            self._daemon = _read(self.folder / DAEMON)
        return self._daemon

    def _must(self) -> tuple[Process, dict[str, int]]:
        found = self._alive()
        if found is None:
            raise RackspanError(
                f"the hosts of cluster {self.folder.name!r} are gone",
                observed="the process that held their network has ended, and all nodes with it",
                do=f"`rackspan start all --cluster {self.folder.name}`, or remove it with `rackspan down`",
            )
        return found

    def _enforce(self, state: LinkState) -> None:
        os.kill(self._must()[0].pid, signal.SIGHUP)
        wait_applied(self.folder, state.version)


class _NoNetwork(Exception):
    """The delay daemon ended before it had made the network; its text is the daemon's last error."""


def _read(file: Path) -> tuple[Process, dict[str, int]] | None:
    """The delay daemon that a file names, if it is alive."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    process = Process(data["pid"], data["started"])
    return None if _stat(process) is ProcessState.GONE else (process, data["networks"])


def _stat(process: Process) -> ProcessState:
    try:
        return state_from_stat(Path(f"/proc/{process.pid}/stat").read_text(), process)
    except (FileNotFoundError, ProcessLookupError):
        return ProcessState.GONE
