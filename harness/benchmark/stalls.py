"""Followers that hang for a moment, each at random times of its own, drawn by a seed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGCONT, SIGSTOP
from typing import Any

from harness.benchmark.workload import Stalls
from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.node import KafkaNode
from harness.common.wait import pause


def stall_seed(seed: int, pair: int, part: str) -> str:
    """The seed of all blocks of one round: each mode meets the same stalls."""
    return f"{seed}-{pair}-{part}"


def due(stalls: Stalls, seed: str, node: str) -> Iterator[float]:
    """When the stalls of a node begin, in seconds after the begin of the part, without an end.

    The time from the end of one to the next is exponential, so that none predicts another.
    """
    drawn = random.Random(f"{seed}-{node}")
    at = 0.0
    while True:
        at += drawn.expovariate(1 / stalls.every)
        yield at
        at += stalls.seconds


@contextmanager
def stalled(cluster: KafkaCluster, stalls: Stalls | None, seed: str) -> Iterator[dict[str, Any]]:
    """Stalls happen for the time of a `with` block; behind it the mapping has their number, their mean length, and of
    each node when they were due (seconds after the begin).
    """
    observed: dict[str, Any] = {}
    if stalls is None:
        yield observed
        return
    ended = threading.Event()
    lengths: list[float] = []
    begun: dict[str, list[float]] = {name: [] for name in stalls.nodes}
    from_s = time.monotonic()
    threads = [
        threading.Thread(target=_stall, args=(cluster.node(name), stalls, seed, from_s, ended, lengths, begun[name]))
        for name in stalls.nodes
    ]
    for thread in threads:
        thread.start()
    try:
        yield observed
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        observed |= {"stalls": len(lengths), "stall_s": round(sum(lengths) / len(lengths), 4) if lengths else 0.0}
        observed["stall_due_s"] = begun


def _stall(
    node: KafkaNode,
    stalls: Stalls,
    seed: str,
    from_s: float,
    ended: threading.Event,
    lengths: list[float],
    begun: list[float],
) -> None:
    for at in due(stalls, seed, node.name):
        if ended.wait(max(0.0, from_s + at - time.monotonic())):
            return
        paused = time.monotonic()
        try:
            if not node.signal(SIGSTOP):
                return
            begun.append(round(at, 4))
            pause(stalls.seconds)
        finally:
            node.signal(SIGCONT)
        lengths.append(time.monotonic() - paused)
