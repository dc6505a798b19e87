"""A load client as a local process: started, steered by lines, stopped, its status lines kept."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Self

from harness.common.errors import Exit, RackspanError


class LoadClientError(RackspanError):
    """A load client did not do what was requested."""


class LoadProcess:
    """One running client, in the folder ``cwd``. ``log`` receives its stderr; ``status`` is called with every JSON line
    as it comes.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        nice: int = 0,
        status: Callable[[dict[str, Any]], None] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.log = log
        self.lines: list[dict[str, Any]] = []
        self._status = status
        self._news = threading.Condition()
        self._ended = False
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
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Process id of the client."""
        return self._process.pid

    def wait_line(self, event: str, timeout: float, after: int = 0) -> dict[str, Any]:
        """The first status line of that kind at or behind position ``after``; raises after ``timeout`` seconds."""
        until = time.monotonic() + timeout
        with self._news:
            while True:
                found = next((line for line in self.lines[after:] if line.get("event") == event), None)
                if found is not None:
                    return found
                if self._ended or time.monotonic() >= until:
                    raise self._missing(event, timeout, self._ended)
                self._news.wait(max(0.0, until - time.monotonic()))

    def pause(self, timeout: float = 10) -> dict[str, Any]:
        """Stops the schedule; returns the status line that confirms it."""
        return self._steer("pause", "paused", timeout)

    def resume(self, timeout: float = 10) -> dict[str, Any]:
        """Starts the schedule again; returns the status line that confirms it."""
        return self._steer("resume", "resumed", timeout)

    def set_rate(self, records_per_second: float, timeout: float = 10) -> dict[str, Any]:
        """Sets another rate from the next record on; returns the status line that confirms it."""
        return self._steer(f"rate {records_per_second:.3f}", "rated", timeout)

    def begin(self, window: str, timeout: float = 10) -> dict[str, Any]:
        """Begins the window of that name for records due from now on; returns the totals until now."""
        return self._steer(f"begin {window}", "begun", timeout)

    def end(self, timeout: float = 10) -> dict[str, Any]:
        """Ends the window; returns the totals until now and lag_p99_us, how late its records were sent, and of a client
        that counts also its seconds and p99_us so far.
        """
        return self._steer("end", "ended", timeout)

    def kill(self) -> None:
        """Sends SIGKILL; the record file keeps everything recorded so far."""
        self._process.kill()
        self._process.wait()

    def stop(self, timeout: float = 30) -> dict[str, Any]:
        """Sends SIGTERM and returns the summary line; raises when the client does not end in time."""
        if self._process.poll() is None:
            self._process.terminate()
        return self.finish(timeout)

    def drain(self, timeout: float) -> dict[str, Any]:
        """Lets the client finish its work and stop; returns its summary line."""
        self._steer("stop", "summary", timeout)
        return self.finish(timeout)

    def finish(self, timeout: float) -> dict[str, Any]:
        """Waits for the client's own end and returns its summary line."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired as e:
            raise self._missing("summary", timeout, False) from e
        self._reader.join()
        summaries = [line for line in self.lines if line.get("event") == "summary"]
        if code != 0 or not summaries:
            raise LoadClientError(
                "load client failed", observed=f"exit code {code}, {self._last()}", do=f"read {self.log}"
            )
        return summaries[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            self.kill()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            _close(stream)

    def _steer(self, word: str, answer: str, timeout: float) -> dict[str, Any]:
        after = len(self.lines)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(word + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as e:
            raise LoadClientError(
                f"cannot {word} the load client", observed=f"it is gone, {self._last()}", do=f"read {self.log}"
            ) from e
        return self.wait_line(answer, timeout, after)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                continue
            with self._news:
                self.lines.append(line)
                self._news.notify_all()
            if self._status is not None:
                self._status(line)
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _last(self) -> str:
        tail = self.log.read_text(errors="replace").splitlines()[-1:]
        return f"last status {self.lines[-1] if self.lines else 'none'}, last log line {tail[0] if tail else 'none'!r}"

    def _missing(self, event: str, timeout: float, ended: bool) -> LoadClientError:
        when = "before the client ended" if ended else f"within {timeout} s"
        return LoadClientError(
            f"load client gave no {event!r} line {when}",
            observed=self._last(),
            do=f"read {self.log}",
            code=Exit.FAILED if ended else Exit.TIMEOUT,
        )


def _close(stream: IO[str] | None) -> None:
    if stream is not None:
        try:
            stream.close()
        except BrokenPipeError:
            return
