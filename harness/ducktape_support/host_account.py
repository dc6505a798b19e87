"""A ducktape account over a harness host: every command and file goes through the host, none through ssh."""

from __future__ import annotations

import io
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ducktape.cluster.linux_remoteaccount import LinuxRemoteAccount
from ducktape.cluster.remoteaccount import RemoteAccountSSHConfig, RemoteCommandError, SSHOutputIter

from harness.hosts.host import Host

COMMAND_SECONDS = 600.0


class HostAccount(LinuxRemoteAccount):  # type: ignore[misc]  # ducktape has no types
    """One slot of the test cluster. A service binds it to the host that it really uses, and its paths may be relative
    to that host's own folder.
    """

    def __init__(self, slot: str, node_type: str, host: Host) -> None:
        super().__init__(RemoteAccountSSHConfig(slot, hostname=host.address), host.address, node_type=node_type)
        self.slot = slot
        self.own_host = host
        self.bind(host, slot)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostAccount) and other.slot == self.slot

    def __hash__(self) -> int:
        return hash(self.slot)

    def bind(self, host: Host, name: str) -> None:
        """Makes this the account of `host`; collected logs go to a folder of that name."""
        self.host = host
        self.hostname = name
        self.externally_routable_ip = host.address

    def close(self) -> None:
        """Goes back to the slot's own host: called when a service frees the node."""
        self.bind(self.own_host, self.slot)

    def ssh(self, cmd: str, allow_fail: bool = False) -> int:
        """Runs a command to its end and returns its exit code. Raises RemoteCommandError."""
        self._run(cmd, allow_fail)
        return self._code

    def ssh_output(
        self, cmd: str, allow_fail: bool = False, combine_stderr: bool = True, timeout_sec: float | None = None
    ) -> bytes:
        """The output of a command. Raises RemoteCommandError."""
        script = f"{{ {cmd}\n}} 2>&1" if combine_stderr else cmd
        return self._run(script, allow_fail, timeout_sec).encode()

    def ssh_capture(
        self,
        cmd: str,
        allow_fail: bool = False,
        callback: Callable[[str], Any] | None = None,
        combine_stderr: bool = True,
        timeout_sec: float | None = None,
    ) -> SSHOutputIter:
        """The lines of a command as it prints them. Raises RemoteCommandError at the end of a failed one."""
        process = subprocess.Popen(
            self.host.argv(["/bin/bash", "-c", self._inside(cmd)]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if combine_stderr else subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

        def lines() -> Iterator[Any]:
            assert process.stdout is not None
            with process.stdout:
                for line in process.stdout:
                    yield line if callback is None else callback(line)
            if process.wait() != 0 and not allow_fail:
                raise RemoteCommandError(self, cmd, process.returncode, "")

        return SSHOutputIter(lines, None)

    def copy_from(self, src: str, dest: str) -> None:
        """Copies a file or folder of the host into the folder `dest`, or to it if there is none; one that is missing is
        passed over, since not every node writes every log.
        """
        path = self._path(src)
        if not self.exists(path):
            return
        target = Path(dest)
        self.host.fetch(path, str(target / Path(path).name if target.is_dir() else target))

    def copy_to(self, src: str, dest: str) -> None:
        """Copies a local file or folder into the host's folder `dest`, or to it if there is none."""
        path = self._path(dest)
        self.host.send(src, f"{path}/{Path(src).name}" if self.isdir(path) else path)

    def create_file(self, path: str, contents: str) -> None:
        """Writes a text file."""
        self.host.write(self._path(path), contents)

    def open(self, path: str, mode: str = "r") -> io.BytesIO:
        """The content of a file, for reading only."""
        if mode not in ("r", "rb"):
            raise ValueError(f"cannot open {path} with mode {mode!r}; write with create_file")
        return io.BytesIO(self.host.read(self._path(path)).encode())

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        """Makes a folder. Raises RemoteCommandError if its parent is missing."""
        self.ssh(f"mkdir -m {mode:o} -- {shlex.quote(self._path(path))}")

    def isdir(self, path: str) -> bool:
        """True if there is a folder."""
        return self._test("-d", path)

    def isfile(self, path: str) -> bool:
        """True if there is a file."""
        return self._test("-f", path)

    def islink(self, path: str) -> bool:
        """True if there is a symbolic link."""
        return self._test("-L", path)

    def exists(self, path: str) -> bool:
        """True if there is anything of that name."""
        return self._test("-e", path) or self._test("-L", path)

    @property
    def sftp_client(self) -> Any:
        """There is none: copies go through the host."""
        raise NotImplementedError("this account has no sftp; use copy_from, copy_to, create_file and open")

    def _path(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.host.root}/{path}"

    def _inside(self, cmd: str) -> str:
        root = shlex.quote(self.host.root)
        return f"mkdir -p -- {root} && cd {root} || exit 1\n{cmd}"

    def _test(self, flag: str, path: str) -> bool:
        return self.host.shell(f"test {flag} {shlex.quote(self._path(path))}").code == 0

    def _run(self, cmd: str, allow_fail: bool, seconds: float | None = None) -> str:
        done = self.host.shell(self._inside(cmd), seconds=seconds or COMMAND_SECONDS)
        if done.code != 0 and not allow_fail:
            raise RemoteCommandError(self, cmd, done.code, done.err.encode())
        self._code = done.code
        return done.out
