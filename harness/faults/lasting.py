"""Faults that outlive the process that made them, until somebody puts back what they changed.

What is to be put back is written to the cluster's folder before anything is changed: `rackspan fault heal` finds it
there after a crash, and `rackspan down` removes it with the rest.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.atomic_files import write_aside
from harness.common.paths import locked_wait
from harness.faults.base import Events, fault

FILE = "faults.json"


@dataclass(frozen=True)
class Held:
    """A fault in force: `name` says what it is and is there once, `was` is what its kind needs to put back."""

    name: str
    kind: str
    since_ns: int
    was: dict[str, Any]


@dataclass(frozen=True)
class Lasting:
    """A fault that can be held. `look` returns the present state (as JSON), `make` changes it, `put_back` undoes that
    from what `look` returned; undoing a change that was not made yet must be harmless.
    """

    name: str
    kind: str
    data: dict[str, Any]
    look: Callable[[], dict[str, Any]]
    make: Callable[[], None]
    put_back: Callable[[dict[str, Any]], None]

    def begin(self, cluster: KafkaCluster) -> None:
        """Makes it; one of the same name that is in force is ended first. Raises RackspanError."""
        self.end(cluster)
        _change(cluster.folder, lambda all_: [*all_, Held(self.name, self.kind, time.time_ns(), self.look())])
        self.make()

    def end(self, cluster: KafkaCluster) -> None:
        """Puts back what was, if it is in force. Raises RackspanError, and then it still is."""
        for found in held(cluster):
            if found.name == self.name:
                self.put_back(found.was)
                forget(cluster, found)


@contextmanager
def holding(cluster: KafkaCluster, lasting: Lasting, events: Events | None) -> Iterator[None]:
    """Holds it for the time of a `with` block."""
    begin, end = (lambda: lasting.begin(cluster)), (lambda: lasting.end(cluster))
    with fault(lasting.name, begin, end, events, lasting.data):
        yield


def held(cluster: KafkaCluster) -> list[Held]:
    """The faults in force, oldest first."""
    return _read(cluster.folder)


def forget(cluster: KafkaCluster, one: Held) -> None:
    """Takes a fault off the list: it has been put back."""
    _change(cluster.folder, lambda all_: [h for h in all_ if h.name != one.name])


def _read(folder: Path) -> list[Held]:
    try:
        return [Held(**h) for h in json.loads((folder / FILE).read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []


def _change(folder: Path, change: Callable[[list[Held]], list[Held]]) -> None:
    with locked_wait(folder / "faults.lock"):
        write_aside(folder / FILE, json.dumps([asdict(h) for h in change(_read(folder))], indent=1) + "\n")
