"""Waiting on a condition: the only place of the harness that sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from harness.common.errors import Exit, RackspanError

T = TypeVar("T")
_SLOWER = 0.05  # pauses grow to that part of the time waited
_SLOWEST = 0.5  # seconds


@dataclass(frozen=True)
class Pending:
    """The answer of a probe while its condition does not hold yet; falsy, and says what is missing."""

    why: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.why


class WaitTimeout(RackspanError):
    """A condition did not come true in time (exit code 3)."""

    def __init__(self, label: str, seconds: float, tries: int, last: object, error: Exception | None, do: str) -> None:
        self.label = label
        self.tries = tries
        self.last = last
        self.error = error
        observed = f"{tries} {'try' if tries == 1 else 'tries'}; last value: {last}"
        if error is not None:
            observed += f"; last exception: {describe(error)}"
        super().__init__(
            f"gave up waiting for {label} after {seconds:.1f} s", observed=observed, do=do, code=Exit.TIMEOUT
        )


def describe(error: Exception) -> str:
    """An exception on one line."""
    if isinstance(error, RackspanError):
        return error.brief
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def wait_for(
    label: str,
    probe: Callable[[], T | Pending],
    seconds: float,
    *,
    every: float = 0.1,
    do: str = "look at `rackspan status` and `rackspan logs NODE`",
    update: Callable[[str], None] | None = None,
    at_once: type[Exception] | tuple[type[Exception], ...] = (),
) -> T:
    """Calls `probe` until it returns something true, and returns that.

    A false value or an exception means "not yet"; Ctrl-C is never swallowed. `update` gets the last value each time it
    changes; an exception of type `at_once` is raised instead of waited on. Probes are `every` seconds apart, more in a
    long wait: each may cost a broker some milliseconds. The probe runs at least once, and once more when `seconds` are
    over. Raises WaitTimeout.
    """
    started = time.monotonic()
    tries, reported = 0, ""
    last: object = None
    error: Exception | None = None
    while True:
        final = time.monotonic() - started >= seconds
        tries += 1
        try:
            value = probe()
            last, error = value, None
            if value:
                return value  # type: ignore[return-value]
        except at_once:
            raise
        except Exception as e:  # a probe may fail in any way while the condition is not met; the last one is reported
            error = e
        now = describe(error) if error is not None else str(last)
        if update is not None and now != reported:
            reported = now
            update(now)
        if final:
            raise WaitTimeout(label, time.monotonic() - started, tries, last, error, do) from error
        waited = time.monotonic() - started
        time.sleep(min(max(every, min(waited * _SLOWER, _SLOWEST)), max(0.0, seconds - waited)))


def pause(seconds: float) -> None:
    """Lets time pass where time itself is the condition (following a file, refreshing a table)."""
    time.sleep(seconds)
