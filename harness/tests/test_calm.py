"""The wait until this machine does little."""

from __future__ import annotations

import time

from harness.benchmark.calm import wait_until_calm


def test_the_wait_ends_with_the_first_calm_sample() -> None:
    begun = time.monotonic()
    assert 0 <= wait_until_calm(1.1, 1000, seconds=0.1) < 1.1
    assert time.monotonic() - begun < 90


def test_the_wait_ends_where_the_machine_stays_busy() -> None:
    begun = time.monotonic()
    assert 0 <= wait_until_calm(0.0, 3, seconds=0.1) <= 1
    assert time.monotonic() - begun >= 0.3
