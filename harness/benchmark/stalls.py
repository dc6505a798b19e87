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


@contextmanager
def stalled(cluster: KafkaCluster, stalls: Stalls | None, seed: str) -> Iterator[dict[str, Any]]:
    """Stalls happen for the time of a `with` block; behind it the mapping has their number and mean length."""
    observed: dict[str, Any] = {}
    if stalls is None:
        yield observed
        return
    ended = threading.Event()
    lengths: list[float] = []
    threads = [
        threading.Thread(target=_stall, args=(cluster.node(name), stalls, f"{seed}-{name}", ended, lengths))
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


def _stall(node: KafkaNode, stalls: Stalls, seed: str, ended: threading.Event, lengths: list[float]) -> None:
    """Of one node: the time from stall to stall is exponential, so that none predicts another."""
    drawn = random.Random(seed)
    while not ended.wait(drawn.expovariate(1 / stalls.every)):
        begun = time.monotonic()
        try:
            if not node.signal(SIGSTOP):
                return
            pause(stalls.seconds)
        finally:
            node.signal(SIGCONT)
        lengths.append(time.monotonic() - begun)
