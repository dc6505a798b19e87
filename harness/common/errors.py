"""The harness' own error: what failed, what was observed, what to do, and the exit code that belongs to it."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the `rackspan` command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    TIMEOUT = 3
    UNKNOWN = 3  # the same: it is not known whether it would have been well
    ENVIRONMENT = 4
    DEFECT = 5


class RackspanError(Exception):
    """An error for a person: `what` failed, what was `observed`, what to `do` about it."""

    def __init__(self, what: str, *, observed: str, do: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(what, observed, do, code)
        self.what = what
        self.observed = observed
        self.do = do
        self.code = code

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions made with keywords do not survive pickling by default; test runners pass them between processes.
        return _rebuild, (self.what, self.observed, self.do, self.code)

    @property
    def brief(self) -> str:
        """The failure and the observation, on one line."""
        return f"{self.what}: {' '.join(self.observed.split())}"

    def __str__(self) -> str:
        return f"{self.what}\n  observed: {self.observed}\n  do:       {self.do}"


def _rebuild(what: str, observed: str, do: str, code: Exit) -> RackspanError:
    return RackspanError(what, observed=observed, do=do, code=code)


def usage_error(what: str, *, observed: str, do: str) -> RackspanError:
    """An error of usage: the caller requested something that cannot be (exit code 2)."""
    return RackspanError(what, observed=observed, do=do, code=Exit.USAGE)


def environment_error(what: str, *, observed: str, do: str) -> RackspanError:
    """The machine lacks something (exit code 4)."""
    return RackspanError(what, observed=observed, do=do, code=Exit.ENVIRONMENT)
