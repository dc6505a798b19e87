"""The resident load client: one process that serves the runs of many callers, each over a connection of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.common.jvm_flags import QUICK
from harness.common.paths import locked_wait
from harness.common.wait import wait_for
from harness.load.client import LoadClient, LoadClientError, Status
from harness.load.command import java_command, load_jar

# Runs take seconds: a fast start is worth more than fast code.
JVM = ("-Xmx512m", *QUICK, "-Xshare:auto")
_SOCKET, _LOG = "socket", "resident.log"
_END_SECONDS = 30.0


class ServedRun(LoadClient):
    """One run of the resident load client; `log` has what its threads write to stderr, as that of a process does."""

    def __init__(
        self, connection: socket.socket, args: Sequence[str], log: Path, resident_log: Path, status: Status | None
    ) -> None:
        self._connection = connection
        self._output = connection.makefile("r", encoding="utf-8")
        self._resident_log = resident_log
        self._code: int | None = None
        self._killed = False
        log.touch()
        super().__init__(log, self._output, status)
        with suppress(ConnectionError):  # its end is reported when the run is waited for
            self._send(json.dumps(list(args)) + "\n")

    def kill(self) -> None:
        if self._reader.is_alive():
            self._killed = True
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)
            self._reader.join(_END_SECONDS)
            if self._reader.is_alive():
                raise LoadClientError(
                    f"a run of the resident load client did not end within {_END_SECONDS:.0f} s of its kill",
                    observed=self._last(),
                    do=f"read {self.log} and {self._resident_log}",
                )

    def stop(self, timeout: float = 30) -> dict[str, Any]:
        with suppress(ConnectionError):
            self._send("stop\n")
        return self.finish(timeout)

    def _send(self, line: str) -> None:
        self._connection.sendall(line.encode())

    def _wait(self, timeout: float) -> int:
        self._reader.join(timeout)
        if self._reader.is_alive():
            raise TimeoutError
        if self._killed:
            return -signal.SIGKILL
        if self._code is not None:
            return self._code
        raise LoadClientError(
            "the resident load client ended under its run",
            observed=self._last(),
            do=f"read {self._resident_log}; the next run starts another one",
        )

    def _close(self) -> None:
        self._output.close()
        self._connection.close()

    def _received(self, line: dict[str, Any]) -> None:
        if "log" in line:
            with self.log.open("a", encoding="utf-8") as log:
                log.write(f"{line['log']}\n")
        elif "exit" in line:
            self._code = int(line["exit"])
        else:
            super()._received(line)


@dataclass(frozen=True)
class ResidentClient:
    """At most one process, started at the first need, and again if it has died.

    It ends when nobody has the other end of the pipe `owner` any more. `folder` has its socket and its log, and is
    entered by its owner only; `libs` is the distribution's libs folder.
    """

    folder: Path
    owner: int
    libs: Path

    def run(self, args: Sequence[str], log: Path, *, status: Status | None = None) -> ServedRun:
        """Begins a run: a verb and its arguments. Raises LoadClientError if no process can be started."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_wait(self.folder / "lock"):
            connection = self._connected()
            if connection is None:
                self._start()
                connection = self._connected()
        if connection is None:
            raise self._failed("it does not listen")
        return ServedRun(connection, args, log, self.log, status)

    @property
    def log(self) -> Path:
        """The log of the process: the line of each start, and errors that belong to no run."""
        return self.folder / _LOG

    @property
    def starts(self) -> list[dict[str, Any]]:
        """The lines of the starts until now."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines if '"event":"serving"' in line]

    def wait_ended(self) -> None:
        """Waits until it has ended, once the pipe is closed. Raises WaitTimeout."""
        wait_for("the resident load client to end", lambda: not self._serves(), _END_SECONDS, every=0.02)

    def _serves(self) -> bool:
        connection = self._connected()
        if connection is not None:
            connection.close()
        return connection is not None

    def _connected(self) -> socket.socket | None:
        connection = socket.socket(socket.AF_UNIX)
        folder = -1
        try:
            folder = os.open(self.folder, os.O_DIRECTORY | os.O_CLOEXEC)
            connection.connect(f"/proc/self/fd/{folder}/{_SOCKET}")  # a socket's address has room for 107 bytes
            served = connection.recv(1) == b"\n"  # one that is dying may still take connections
        except OSError:
            served = False
        finally:
            if folder >= 0:
                os.close(folder)
        if not served:
            connection.close()
        return connection if served else None

    def _start(self) -> None:
        """Starts it as nobody's child: a test ends all of its own."""
        (self.folder / _SOCKET).unlink(missing_ok=True)
        command = java_command(load_jar(), self.libs, ["serve", "--socket", _SOCKET], jvm=JVM)
        with self.log.open("a", encoding="utf-8") as log:
            done = subprocess.Popen(
                ["setsid", "--fork", *command],
                cwd=self.folder,
                stdin=self.owner,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
            assert done.stdout is not None
            with done.stdout as out:
                line = out.readline()
            done.wait()
            log.write(line)
        if not line:
            raise self._failed("it ended before it served")

    def _failed(self, observed: str) -> LoadClientError:
        last = self.log.read_text(errors="replace").splitlines()[-1:]
        return LoadClientError(
            "the resident load client did not start",
            observed=f"{observed}, last log line {last[0] if last else 'none'!r}",
            do=f"read {self.log}",
        )


@contextmanager
def resident_client(folder: Path, libs: Path) -> Iterator[ResidentClient]:
    """A resident load client for the time of a `with` block."""
    reader, writer = os.pipe()
    client = ResidentClient(folder, reader, libs)
    try:
        yield client
    finally:
        os.close(writer)
        client.wait_ended()
        os.close(reader)
