"""Steps that the Python client programs have in common: the first line, and when to give up."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Any

from harness.third_party_clients.output import report

GRACE_S = 30.0  # beyond its own limits a library gets this long to answer


def started(options: Any, idempotence: bool) -> None:
    """Prints the line that names the version of the library."""
    report("started", producer=options.producer, version=version(options.client), idempotence=idempotence)


class Patience:
    """The end of reading: all records are there, or none came for some seconds."""

    def __init__(self, options: Any) -> None:
        self.records = 0
        self._wanted = options.records
        self._idle_s = options.idle_seconds
        self._last = time.monotonic()

    def got(self) -> None:
        """Counts one more record."""
        self.records += 1
        self._last = time.monotonic()

    def more(self) -> bool:
        """True while there is reason to continue."""
        return bool(self.records < self._wanted and time.monotonic() - self._last < self._idle_s)
