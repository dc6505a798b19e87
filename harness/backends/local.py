"""Backend `local`: every node is a process of this machine on a loopback address of its own. Needs no privileges."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from harness.backends.base import Backend
from harness.common.atomic_files import write_aside
from harness.common.errors import RackspanError
from harness.hosts.host import Capability, Host, Output, Process, ProcessState, did_not_end, state_from_stat
from harness.network.namespaces import leave_network
from harness.spec.topology import Node

MARKER = "RACKSPAN_CLUSTER_HOME"  # environment variable of every process of a cluster: the cluster's folder


class LocalHost(Host):
    """A folder and a loopback address."""

    def __init__(self, name: str, address: str, root: str) -> None:
        self.name = name
        self.address = address
        self.root = root

    def shell(self, script: str, *, seconds: float = 60.0) -> Output:
        return self._run(self.argv(["/bin/bash", "-c", script]), script, seconds)

    def _run(self, command: list[str], script: str, seconds: float) -> Output:
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                start_new_session=True,  # Ctrl-C at the terminal reaches the harness, not a half-done script
            )
        except subprocess.TimeoutExpired as e:
            raise did_not_end(self.name, script, seconds) from e
        return Output(done.returncode, done.stdout, done.stderr)

    def write(self, path: str, text: str) -> None:
        write_aside(Path(path), text)

    def fetch(self, path: str, local: str) -> None:
        _copy(path, local)

    def send(self, local: str, path: str) -> None:
        _copy(local, path)

    def read(self, path: str) -> str:
        try:
            return Path(path).read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError, NotADirectoryError):
            return ""

    def tail(self, path: str, lines: int = 400) -> str:
        done = subprocess.run(["tail", "-n", str(lines), "--", path], capture_output=True, text=True, errors="replace")
        return done.stdout

    def rest(self, path: str, offset: int) -> tuple[int, bytes]:
        try:
            with Path(path).open("rb") as f:
                size = f.seek(0, os.SEEK_END)
                f.seek(offset)
                return size, f.read()
        except FileNotFoundError:
            return 0, b""

    def signal(self, process: Process, number: signal.Signals) -> bool:
        if self.state(process) is ProcessState.GONE:
            return False
        try:
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, number)
            else:
                os.kill(process.pid, number)
        except ProcessLookupError:
            return False
        return True


class LocalBackend(Backend):
    """Processes of this machine; latency and reachability between racks are the loopback's and cannot be changed."""

    name = "local"
    capabilities: frozenset[Capability] = frozenset()

    def host(self, node: Node, root: str) -> Host:
        return LocalHost(node.name, node.address, root)

    @classmethod
    def at(cls, folder: Path) -> LocalBackend:
        return cls()

    def prepare(self) -> None:
        leave_network()

    def enter(self) -> None:
        leave_network()

    def leftovers(self, marker: str) -> list[tuple[Host, Process]]:
        return [(LocalHost(str(p.pid), "127.0.0.1", marker), p) for p in processes_with(MARKER, marker)]


def processes_with(variable: str, value: str) -> list[Process]:
    """Processes of this machine, but for this one, that have the variable in their environment."""
    wanted = f"{variable}={value}".encode()
    found: list[Process] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if wanted not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            stat = (entry / "stat").read_text()
            process = Process(int(entry.name), int(stat.rpartition(")")[2].split()[19]))
            if state_from_stat(stat, process) is not ProcessState.GONE:
                found.append(process)
    return found


def _copy(source: str, target: str) -> None:
    if Path(source).is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif Path(source).exists():
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    else:
        raise RackspanError(f"cannot copy {source}", observed="no such file or folder", do="check the path")
