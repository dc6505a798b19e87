"""A load client as a local process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.load.client import LoadClient, Status


class LoadProcess(LoadClient):
    """One running client, in the folder ``cwd``; its stderr goes to ``log``."""

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        nice: int = 0,
        status: Status | None = None,
        cwd: Path | None = None,
    ) -> None:
        prefix = ["nice", "-n", str(nice)] if nice else []
        with log.open("ab") as err:
            self._process = subprocess.Popen(
                [*prefix, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                cwd=cwd,
                start_new_session=True,
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        super().__init__(log, self._output, status)

    @property
    def pid(self) -> int:
        """Process id of the client."""
        return self._process.pid

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def stop(self, timeout: float = 30) -> dict[str, Any]:
        if self._process.poll() is None:
            self._process.terminate()
        return self.finish(timeout)

    def _send(self, line: str) -> None:
        self._input.write(line)
        self._input.flush()

    def _wait(self, timeout: float) -> int:
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired as e:
            raise TimeoutError from e

    def _close(self) -> None:
        for stream in (self._input, self._output):
            with suppress(BrokenPipeError):
                stream.close()
