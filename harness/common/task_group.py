"""A group of tasks that end together: what several threads have started is ended as one."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class TaskGroup(Generic[T]):
    """A group of running tasks. `end` ends one of them; whoever started it waits for it."""

    def __init__(self, end: Callable[[T], None]) -> None:
        self._end = end
        self._lock = threading.Lock()
        self._members: set[T] = set()
        self.ended = False

    @contextlib.contextmanager
    def threads(self, jobs: int) -> Iterator[ThreadPoolExecutor]:
        """A pool of so many threads. At the end of the block, also by an error, jobs that wait are dropped and running
        tasks are ended.
        """
        with ThreadPoolExecutor(jobs) as pool:
            try:
                yield pool
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                self._end_all()

    @contextlib.contextmanager
    def member(self, start: Callable[[], T]) -> Iterator[T]:
        """Starts a task, which belongs to the group for the time of the block. Raises CancelledError if the group has
        ended.
        """
        with self._lock:
            if self.ended:
                raise CancelledError
            found = start()
            self._members.add(found)
        try:
            yield found
        finally:
            with self._lock:
                self._members.discard(found)

    def _end_all(self) -> None:
        with self._lock:
            self.ended = True
            for member in self._members:
                self._end(member)
