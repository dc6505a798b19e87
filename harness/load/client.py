"""A load client under control, whatever it runs in: steered by lines, its status lines kept."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from harness.common.errors import Exit, RackspanError

Status = Callable[[dict[str, Any]], None]


class LoadClientError(RackspanError):
    """A load client did not do what was requested."""


class LoadClient(ABC):
    """One running client. `log` has what it wrote to stderr; `status` is called with every status line as it comes."""

    def __init__(self, log: Path, output: Iterable[str], status: Status | None = None) -> None:
        self.log = log
        self.lines: list[dict[str, Any]] = []
        self._status = status
        self._news = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, args=(output,), daemon=True)
        self._reader.start()

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

    @abstractmethod
    def kill(self) -> None:
        """Ends the client at once, without a summary; the record file keeps everything recorded so far."""

    @abstractmethod
    def stop(self, timeout: float = 30) -> dict[str, Any]:
        """Lets the client stop now and returns its summary line; raises when it does not end in time."""

    def drain(self, timeout: float) -> dict[str, Any]:
        """Lets the client finish its work and stop; returns its summary line."""
        self._steer("stop", "summary", timeout)
        return self.finish(timeout)

    def finish(self, timeout: float) -> dict[str, Any]:
        """Waits for the client's own end and returns its summary line."""
        try:
            code = self._wait(timeout)
        except TimeoutError as e:
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
        self.kill()
        self._reader.join()
        self._close()

    @abstractmethod
    def _send(self, line: str) -> None:
        """Sends a control line. Raises ConnectionError if the client is gone."""

    @abstractmethod
    def _wait(self, timeout: float) -> int:
        """Waits for the client's end; returns its exit code. Raises TimeoutError."""

    @abstractmethod
    def _close(self) -> None:
        """Closes what leads to a client that has ended."""

    def _steer(self, word: str, answer: str, timeout: float) -> dict[str, Any]:
        after = len(self.lines)
        try:
            self._send(word + "\n")
        except ConnectionError as e:
            raise LoadClientError(
                f"cannot {word} the load client", observed=f"it is gone, {self._last()}", do=f"read {self.log}"
            ) from e
        return self.wait_line(answer, timeout, after)

    def _read(self, output: Iterable[str]) -> None:
        with suppress(ConnectionError):
            for text in output:
                with suppress(json.JSONDecodeError):
                    self._received(json.loads(text))
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _received(self, line: dict[str, Any]) -> None:
        with self._news:
            self.lines.append(line)
            self._news.notify_all()
        if self._status is not None:
            self._status(line)

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
