"""Progress as lines on stderr, each with the time since the first."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


def timed() -> Callable[[str], None]:
    """A function that prints a line with the seconds since now."""
    started = time.monotonic()

    def report(text: str) -> None:
        print(f"[{time.monotonic() - started:5.1f} s] {text}", file=sys.stderr, flush=True)

    return report
