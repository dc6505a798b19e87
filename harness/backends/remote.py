"""A host that does not share this machine's files: everything goes through a program that runs scripts there."""

from __future__ import annotations

import os
import shlex
import subprocess
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from signal import Signals
from typing import IO

from harness.common.errors import RackspanError
from harness.hosts.host import Host, Output, Process, did_not_end, last_lines

COPY_SECONDS = 600.0
GONE = 3  # exit code of our own scripts: what they are about is not there


class RemoteHost(Host):
    """`inside` gives the local command line that runs a script of bash there; the rest is written in terms of it."""

    @abstractmethod
    def inside(self, script: str, seconds: float | None = None, *, terminal: bool = False) -> list[str]:
        """The local command line that runs a script on the host, ended there too when it takes much longer than
        `seconds`.
        """

    def check(self, done: Output) -> None:
        """Raises RackspanError if it was not the script that failed but the way to it."""

    def shell(self, script: str, *, seconds: float = 60.0) -> Output:
        return self._do(script, seconds)

    def argv(self, command: Sequence[str]) -> list[str]:
        return self.inside(f"exec {shlex.join(command)}", terminal=True)

    def write(self, path: str, text: str) -> None:
        self._must(f"cannot write {path}", self._do(_into(path), 60.0, text=text))

    def fetch(self, path: str, local: str) -> None:
        quoted = shlex.quote(path)
        kind = self.shell(f"if [ -d {quoted} ]; then echo folder; elif [ -e {quoted} ]; then echo file; fi").out.strip()
        if not kind:
            raise RackspanError(
                f"cannot copy {path} from {self.name}", observed="no such file or folder", do="check the path"
            )
        if kind == "file":
            Path(local).parent.mkdir(parents=True, exist_ok=True)
            with Path(local).open("wb") as out:
                self._must(f"cannot copy {path}", self._do(f"cat -- {quoted}", COPY_SECONDS, out=out))
            return
        Path(local).mkdir(parents=True, exist_ok=True)
        unpack = subprocess.Popen(["tar", "-C", local, "-xf", "-"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert unpack.stdin is not None
        with unpack.stdin:
            done = self._do(f"tar -C {quoted} -cf - .", COPY_SECONDS, out=unpack.stdin)
        self._must(f"cannot copy {path}", done)
        if unpack.wait() != 0:
            raise RackspanError(
                f"cannot copy {path}", observed="tar failed here", do=f"see whether {local} can be written"
            )

    def send(self, local: str, path: str) -> None:
        source = Path(local)
        if source.is_dir():
            script = f"mkdir -p -- {shlex.quote(path)} && tar -C {shlex.quote(path)} --no-same-owner -xf -"
            pack = subprocess.Popen(["tar", "-C", local, "-cf", "-", "."], stdout=subprocess.PIPE)
            assert pack.stdout is not None
            with pack.stdout:
                done = self._do(script, COPY_SECONDS, source=pack.stdout)
            self._must(f"cannot copy {local}", done)
            if pack.wait() != 0:
                raise RackspanError(f"cannot copy {local}", observed="tar failed here", do="see whether it can be read")
        elif source.exists():
            with source.open("rb") as data:
                mode = source.stat().st_mode & 0o777
                self._must(f"cannot copy {local}", self._do(_into(path, mode), COPY_SECONDS, source=data))
        else:
            raise RackspanError(f"cannot copy {local}", observed="no such file or folder", do="check the path")

    def signal(self, process: Process, number: Signals) -> bool:
        script = (  # one way there and back, so that the nodes of a rack are hit together
            f"stat=$(cat /proc/{process.pid}/stat 2>/dev/null) || exit {GONE}; set -- ${{stat##*) }}\n"
            f'[ "${{20}}" = {process.started} ] && {{ [ "$1" != Z ] || [ "${{18}}" -gt 1 ]; }} || exit {GONE}\n'
            f"kill -s {int(number)} -- -{process.pid} || exit {GONE}"
        )
        return self.shell(script).code == 0

    def marked(self, variable: str, value: str) -> list[Process]:
        """Processes of the host that have the variable in their environment."""
        script = (
            f"for f in $(grep -lzxF -- {shlex.quote(f'{variable}={value}')} /proc/[0-9]*/environ 2>/dev/null); do\n"
            'cat "${f%environ}stat" 2>/dev/null; done; true'
        )
        found = []
        for line in self.shell(script).out.splitlines():
            fields = line.rpartition(")")[2].split()
            if len(fields) >= 20 and fields[0] not in "ZX":
                found.append(Process(int(line.split()[0]), int(fields[19])))
        return found

    def _do(
        self,
        script: str,
        seconds: float,
        *,
        text: str | None = None,
        source: IO[bytes] | None = None,
        out: IO[bytes] | None = None,
    ) -> Output:
        try:
            done = subprocess.run(
                self.inside(script, seconds),
                input=None if text is None else text.encode(),
                stdin=None if text is not None else source or subprocess.DEVNULL,
                stdout=out or subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=seconds,
                start_new_session=True,  # Ctrl-C at the terminal reaches the harness, not a half-done script
            )
        except subprocess.TimeoutExpired as e:
            raise did_not_end(self.name, script, seconds) from e
        printed, errors = ((part or b"").decode(errors="replace") for part in (done.stdout, done.stderr))
        result = Output(done.returncode, printed, errors)
        self.check(result)
        return result

    def _must(self, what: str, done: Output) -> None:
        if done.code != 0:
            observed = f"exit code {done.code}: {last_lines(done.err or done.out)}"
            raise RackspanError(
                f"{what} on {self.name}", observed=observed, do="see whether its disk is full, and whose it is"
            )


def _into(path: str, mode: int | None = None) -> str:
    """A script that writes its standard input to a file, all of it or nothing."""
    part = shlex.quote(f"{path}.{os.getpid()}.part")
    chmod = f"chmod {mode:o} {part} && " if mode is not None else ""
    folder = shlex.quote(path.rpartition("/")[0] or "/")
    return f"mkdir -p -- {folder} && cat > {part} && {chmod}mv -f -- {part} {shlex.quote(path)}"
