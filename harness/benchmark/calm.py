"""The wait until this machine does little, after brokers have started or have much to take in."""

from __future__ import annotations

import psutil


def wait_until_calm(below: float, samples: int, *, seconds: float = 5.0) -> float:
    """Waits until the processors are less busy than that, 0 to 1, in a sample of so many seconds; for so many samples.

    Returns how busy they were in the last one.
    """
    busy = 1.0
    for _ in range(samples):
        busy = psutil.cpu_percent(interval=seconds) / 100
        if busy < below:
            break
    return busy
