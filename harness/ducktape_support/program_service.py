"""A program of the distribution on a client host, as a ducktape service: a Streams application, a Connect worker."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ducktape.services.service import Service

from harness.common.errors import Exit, RackspanError
from harness.common.process_tree import end_with_parent
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.rack_cluster import CLIENT, nodes_by_type

ENDED = (0, 128 + signal.SIGTERM)  # exit codes of a JVM that was asked to end
END_SECONDS = 90


class ProgramService(Service):  # type: ignore[misc]  # ducktape has no types
    """One program in a folder of its own; what it prints is collected."""

    logs = {"log": {"path": "program.log", "collect_default": True}}  # noqa: RUF012  # ducktape reads a class attribute

    def __init__(self, context: Any, name: str) -> None:
        super().__init__(context, cluster_spec=nodes_by_type([CLIENT]))
        self.name = name
        self.folder = Path(self.local_scratch_dir)
        self.log = self.folder / str(self.logs["log"]["path"])
        account = self.nodes[0].account
        account.bind(type(account.host)(name, account.host.address, str(self.folder)), name)
        self._command: Sequence[str] = ()
        self._environment: Mapping[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Starts the program with these variables beside the session's own."""
        self._command, self._environment = command, environment
        self.start()

    def start_node(self, node: Any, **unused: Any) -> None:
        """Starts the program."""
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                node.account.host.argv(self._command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, **self._environment},
                start_new_session=True,
                preexec_fn=partial(end_with_parent, signal.SIGTERM),
            )

    def stop_node(self, node: Any, **unused: Any) -> None:
        """Ends a program that the test has not ended itself."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def clean_node(self, node: Any, **unused: Any) -> None:
        """Leaves the folder, as ducktape calls this before a start too."""

    def clean(self, **unused: Any) -> None:
        """Removes the folder; ducktape itself does so only for tests that it runs once."""
        super().clean(**unused)
        self.close()

    @property
    def printed(self) -> str:
        """Everything that the program has printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait_printed(self, pattern: str, seconds: float) -> re.Match[str]:
        """Waits for a line with the pattern. Raises WaitTimeout, or RackspanError if the program has ended."""

        def probe() -> re.Match[str] | Pending:
            found = re.search(pattern, self.printed, re.MULTILINE)
            self.require_running()
            return found or Pending(self.printed[-300:])

        return wait_for(f"{self.name} to print {pattern}", probe, seconds, every=0.3, at_once=RackspanError)

    def require_running(self) -> None:
        """Raises RackspanError if the program has ended."""
        assert self._process is not None, "the service was not started"
        if self._process.poll() is not None:
            raise self._failed("ended")

    def end(self) -> None:
        """Asks the program to end, and waits. Raises RackspanError if it had ended before, or ends badly."""
        self.require_running()
        assert self._process is not None
        self._process.terminate()
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            raise self._failed(f"does not end within {END_SECONDS} s") from None
        if code not in ENDED:
            raise self._failed("ended badly")

    def _failed(self, how: str) -> RackspanError:
        code = self._process.returncode if self._process is not None else None
        return RackspanError(
            f"{self.name} {how}",
            observed=f"exit code {code}; it printed last: {self.printed[-600:]}",
            do=f"read {self.logs['log']['path']} among the collected logs",
            code=Exit.FAILED,
        )
