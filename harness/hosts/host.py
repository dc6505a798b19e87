"""A host as everything above sees it: a machine, or what stands for one, that runs scripts and holds files.

All else is written in terms of these two, so that hosts behind ssh, in containers or in network namespaces have few
methods to supply.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from signal import Signals

from harness.common.errors import RackspanError


class Capability(StrEnum):
    """An ability of a backend beyond starting and ending processes."""

    DELAY = "delay"  # add latency between racks
    CUT = "cut"  # make a rack unreachable while it runs
    SLOW = "slow"  # slow one host down
    POWER_CUT = "power_cut"  # lose what was written but not flushed


class ProcessState(StrEnum):
    """A process as the operating system sees it."""

    RUNNING = "running"
    PAUSED = "paused"
    GONE = "gone"


@dataclass(frozen=True)
class Process:
    """A process by pid and start time (clock ticks since boot), so that a re-used pid is never mistaken for it."""

    pid: int
    started: int

    def __str__(self) -> str:
        return f"{self.pid} {self.started}"

    @classmethod
    def parse(cls, text: str) -> Process | None:
        """From the text of a pid file; None if it holds no process."""
        parts = text.split()
        return cls(int(parts[0]), int(parts[1])) if len(parts) == 2 and all(p.isdigit() for p in parts) else None


@dataclass(frozen=True)
class Output:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


class Host(ABC):
    """One machine (or what stands for one): `address` is where its processes listen, `root` the folder that is its
    own.
    """

    name: str
    address: str
    root: str

    @abstractmethod
    def shell(self, script: str, *, seconds: float = 60.0) -> Output:
        """Runs a bash script to its end and returns what it printed; a code other than 0 is no error here."""

    @abstractmethod
    def write(self, path: str, text: str) -> None:
        """Writes a text file atomically (aside, then renamed), making its folder."""

    @abstractmethod
    def fetch(self, path: str, local: str) -> None:
        """Copies a file or folder of the host to the local path. Raises RackspanError if there is none."""

    @abstractmethod
    def send(self, local: str, path: str) -> None:
        """Copies a local file or folder to `path` on the host."""

    def argv(self, command: Sequence[str]) -> list[str]:
        """The local command line that runs `command` on the host with this terminal's input and output."""
        return list(command)

    def run(self, command: Sequence[str], *, env: Mapping[str, str] | None = None, seconds: float = 60.0) -> str:
        """Runs a command to its end and returns its standard output.

        Raises RackspanError with the end of its errors.
        """
        done = self.shell(f"{exports(env)}{shlex.join(command)}", seconds=seconds)
        if done.code != 0:
            raise RackspanError(
                f"`{shlex.join(command)[:200]}` failed on {self.name}",
                observed=f"exit code {done.code}: {last_lines(done.err or done.out)}",
                do="run it by hand to see all of its output",
            )
        return done.out

    def read(self, path: str) -> str:
        """The text of a file; "" if there is none."""
        return self.shell(f"cat -- {shlex.quote(path)} 2>/dev/null").out

    def tail(self, path: str, lines: int = 400) -> str:
        """The last lines of a text file; "" if there is none."""
        return self.shell(f"tail -n {lines} -- {shlex.quote(path)} 2>/dev/null").out

    def rest(self, path: str, offset: int) -> tuple[int, bytes]:
        """The size of a text file and what it holds behind the offset; (0, b"") if there is none."""
        file = shlex.quote(path)
        size, _, text = self.shell(f"[ -f {file} ] && stat -c %s {file} && tail -c +{offset + 1} {file}").out.partition(
            "\n"
        )
        return int(size or 0), text.encode()

    def remove(self, path: str) -> None:
        """Removes a file or folder below the host's root; none there is success."""
        if not path.startswith(self.root.rstrip("/") + "/"):
            raise ValueError(f"{path} is not below {self.root}")
        self.run(["rm", "-rf", "--", path])

    def start(self, command: Sequence[str], *, pid_file: str, output: str, env: Mapping[str, str]) -> Process:
        """Starts a process in a session of its own and returns it once its pid file is written.

        The process writes its pid and start time itself, before it becomes `command`: a caller that is killed at any
        moment leaves either no process or one that its pid file names. Raises RackspanError.
        """
        pid, out = shlex.quote(pid_file), shlex.quote(output)
        inner = (
            # /proc has the pid that the harness sees, also where the process has another one for itself
            f'read -r stat < /proc/self/stat && set -- $stat && line="$1 ${{22}}" && '
            f'echo "$line" > {pid}.part && mv {pid}.part {pid} && '
            f'echo "$line" >&3 && exec 3>&- && exec {shlex.join(command)}'
        )
        script = (
            f'mkdir -p -- "$(dirname {pid})" "$(dirname {out})" && rm -f {pid} && exec 3>&1 || exit 1\n'
            # it carries its environment before anybody can know of it: leftovers are found by that
            f"{exports(env)}setsid sh -c {shlex.quote(inner)} < /dev/null >> {out} 2>&1 &"
        )
        done = self.launch(script)
        process = Process.parse(done.out)
        if process is None:
            raise RackspanError(
                f"cannot start {command[0]} on {self.name}",
                observed=last_lines(done.err or self.read(output)) or "it wrote no pid file",
                do=f"read {output}",
            )
        return process

    def launch(self, script: str) -> Output:
        """Runs a script that leaves a process behind."""
        return self.shell(script)

    def process(self, pid_file: str) -> Process | None:
        """The process that a pid file names, alive or not."""
        return Process.parse(self.read(pid_file))

    def state(self, process: Process) -> ProcessState:
        """State of that very process; one that ended but was not reaped counts as gone."""
        return state_from_stat(self.read(f"/proc/{process.pid}/stat"), process)

    def signal(self, process: Process, number: Signals) -> bool:
        """Signals the process and its group, if it is still that very process; False if it is gone."""
        if self.state(process) is ProcessState.GONE:
            return False
        return self.shell(f"kill -s {int(number)} -- -{process.pid}").code == 0


def did_not_end(host: str, script: str, seconds: float) -> RackspanError:
    """An error: a script ran longer than it may."""
    return RackspanError(
        f"a command on {host} did not end", observed=f"{seconds:.0f} s: {script[:200]}", do="see what it waits for"
    )


def exports(env: Mapping[str, str] | None) -> str:
    """Shell text that sets the environment of what follows."""
    return "".join(f"export {key}={shlex.quote(value)}; " for key, value in (env or {}).items())


def state_from_stat(stat: str, process: Process) -> ProcessState:
    """State of a process from the text of /proc/PID/stat."""
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20 or int(fields[19]) != process.started:
        return ProcessState.GONE
    if fields[0] in "ZX" and int(fields[17]) <= 1:  # else its first thread has ended, but others still hold its ports
        return ProcessState.GONE
    return ProcessState.PAUSED if fields[0] in "Tt" else ProcessState.RUNNING


def last_lines(text: str, count: int = 3) -> str:
    """The last lines that are not empty, on one line."""
    return " | ".join([line.strip() for line in text.splitlines() if line.strip()][-count:])
