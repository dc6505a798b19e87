"""Admission of stages: a stated number at a time, and more of them while the processors are idle."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

from harness.benchmark.cpu_usage import CpuTicks

# Idle for so much of so many seconds: clusters that start one after the other leave shorter gaps, and those that have
# too little time lose more of it by elections, retries and reconnects than is idle.
WINDOW_S = 30
IDLE = 0.25


class IdleProcessors:
    """The idle share of all processors, 0 to 1, over the last WINDOW_S samples; one is taken a second."""

    def __init__(self, sample: Callable[[], CpuTicks] = CpuTicks.now) -> None:
        self._sample = sample
        self._samples: deque[CpuTicks] = deque(maxlen=WINDOW_S + 1)

    def restart(self) -> None:
        """Forgets the samples: those to come have what was admitted last."""
        self._samples.clear()

    def share(self) -> float:
        """Takes a sample; 0 until the window is full."""
        self._samples.append(self._sample())
        if len(self._samples) <= WINDOW_S:
            return 0.0
        return 1 - self._samples[0].until(self._samples[-1])["cpu_busy"]


class Admission:
    """Places for stages: `jobs` of them, and up to `extra` more, one at a time, while the processors are idle."""

    def __init__(self, jobs: int, extra: int = 0, idle: IdleProcessors | None = None, every: float = 1.0) -> None:
        self._jobs, self._extra, self._every = jobs, extra, every
        self._idle = idle or IdleProcessors()
        self._turn = threading.Lock()  # the first that waits looks at the processors, for all
        self._lock = threading.Lock()
        self._running = 0

    @contextlib.contextmanager
    def place(self, ended: Callable[[], bool]) -> Iterator[None]:
        """Waits for a place, which is taken for the time of the block. Raises CancelledError once `ended`."""
        with self._turn:
            self._idle.restart()
            while not self._taken():
                if ended():
                    raise CancelledError
                time.sleep(self._every)
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    def _taken(self) -> bool:
        with self._lock:
            free = self._running < self._jobs
            if not free and self._running < self._jobs + self._extra:
                free = self._idle.share() >= IDLE
            self._running += free
        return free
