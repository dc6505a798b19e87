"""How long work tells what it is doing: steps that begin, say what they see, and end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

Seen = Callable[[str], None]


class Progress:
    """Tells nobody; the command line has one that prints."""

    @contextlib.contextmanager
    def step(self, label: str) -> Iterator[Seen]:
        """A step of work; the value given tells what is seen meanwhile."""
        yield lambda text: None

    def note(self, text: str) -> None:
        """A remark between steps."""
