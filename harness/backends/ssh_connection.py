"""Shared connections of OpenSSH's own client: one a machine and cluster, kept between commands."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from harness.common.errors import RackspanError, environment_error
from harness.common.wait import WaitTimeout, wait_for
from harness.hosts.host import last_lines
from harness.spec.inventory import Machine

LINGER = 120  # seconds that an unused connection is kept
OPTIONS = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "LogLevel": "ERROR",
    "ConnectTimeout": "15",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "6",
    "ClearAllForwardings": "yes",
}
_END_SECONDS = 5.0


class Connection:
    """A connection to one machine, for one cluster: opened at its first use, shared by processes, closed at the end."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine = machine
        self.target = f"{machine.user}@{address_of(machine)}" if machine.user else address_of(machine)
        self._known = folder / "known_hosts"
        key = hashlib.sha256(f"{folder}|{self.target}|{machine.port}".encode()).hexdigest()[:16]
        # a socket's path is short by law of the kernel, and a cluster's folder may be deep
        self.socket = Path(tempfile.gettempdir()) / f"rackspan-ssh-{os.getuid()}" / key

    def command(self, *more: str) -> list[str]:
        """The beginning of a command line of ssh, up to where the machine is named."""
        options = OPTIONS | {"ControlPath": str(self.socket)}
        if self.machine.key:
            options |= {"IdentityFile": self.machine.key, "IdentitiesOnly": "yes"}
        if self.machine.host_key:
            options |= {"UserKnownHostsFile": str(self._known), "GlobalKnownHostsFile": "/dev/null"}
        given = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
        return ["ssh", *given, "-p", str(self.machine.port), *more]

    @property
    def known_host(self) -> str:
        """The machine's line of a file of known hosts, if the inventory has its key."""
        port = self.machine.port
        name = address_of(self.machine) if port == 22 else f"[{address_of(self.machine)}]:{port}"
        return f"{name} {self.machine.host_key}\n" if self.machine.host_key else ""

    def open(self) -> None:
        """Opens the shared connection if there is none. Raises RackspanError (exit code 4)."""
        if self.socket.exists():
            return
        self.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.socket.with_suffix(".lock").open("w") as lock, tempfile.TemporaryFile() as errors:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.socket.exists():
                return
            keep = ["-o", "ControlMaster=yes", "-o", f"ControlPersist={LINGER}", "-N", "-f"]
            done = subprocess.run(
                [*self.command(*keep), self.target],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,  # what stays in the background holds it open
                start_new_session=True,
            )
            self.socket.with_suffix(".lock").unlink(missing_ok=True)  # who waits for it finds the socket
            if done.returncode != 0:
                errors.seek(0)
                raise unreachable(self, last_lines(errors.read().decode(errors="replace")))

    def close(self) -> None:
        """Ends the shared connection; none there is success."""
        if self.socket.exists():
            subprocess.run([*self.command("-O", "exit"), self.target], capture_output=True)
            with suppress(WaitTimeout):  # it takes its socket away after it has answered
                wait_for("the shared connection to end", lambda: not self.socket.exists(), _END_SECONDS, every=0.02)


def unreachable(connection: Connection, observed: str) -> RackspanError:
    """The machine cannot be entered."""
    do = f"see whether `ssh {connection.target}` works on port {connection.machine.port}"
    if "ost key verification failed" in observed or "REMOTE HOST IDENTIFICATION" in observed:
        do = "compare its host key by another way; give it as `host_key` in the inventory, or put it in known_hosts"
    elif "Permission denied" in observed:
        do = "give `user` and `key` in the inventory, and put the public key in that user's authorized_keys"
    return environment_error(f"cannot enter {connection.target} by ssh", observed=observed or "ssh said nothing", do=do)


def address_of(machine: Machine) -> str:
    """The address that ssh connects to; nodes of the machine may listen on another one."""
    return machine.ssh_address or machine.address
