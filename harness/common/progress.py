"""Progress of long work: steps that begin, report what they observe, and end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

Update = Callable[[str], None]


class Progress:
    """Progress that nobody sees; the command line has one that prints."""

    @contextlib.contextmanager
    def step(self, label: str) -> Iterator[Update]:
        """Runs a step of work; the function given reports what is observed meanwhile."""
        yield lambda text: None

    def note(self, text: str) -> None:
        """A remark between steps."""
