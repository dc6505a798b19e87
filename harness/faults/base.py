"""Shared by all faults: heal first, begin, heal again, and an event for each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol


class Events(Protocol):
    """A recorder of faults, such as the events writer of a run folder."""

    def event(self, kind: str, name: str, state: str = "point", data: Mapping[str, Any] | None = None) -> Any:
        """Records one event: kind `fault`, state `begin`, `end` or `point`."""


class NoEvents:
    """A recorder that keeps nothing."""

    def event(self, kind: str, name: str, state: str = "point", data: Mapping[str, Any] | None = None) -> None:
        """Does nothing."""


@contextlib.contextmanager
def fault(
    name: str, begin: Callable[[], None], heal: Callable[[], None], events: Events | None, data: dict[str, Any]
) -> Iterator[None]:
    """Holds a fault for the time of a `with` block.

    Events: `begin` just before the fault is made, `end` just before it is healed, and a point `NAME healed` when all is
    well again: the window between the first two is the outage itself, the rest is recovery.
    """
    writer = events or NoEvents()
    heal()
    writer.event("fault", name, "begin", data)
    try:
        begin()
        yield
    finally:
        writer.event("fault", name, "end", data)
        heal()
        writer.event("fault", f"{name} healed", "point", data)
