"""Brokers that are taken away for the time of a block, once the controller has reacted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.base import Events
from harness.faults.process import How, nodes_down


@contextmanager
def brokers_away(
    kafka: KafkaRacks,
    replicas: Mapping[str, Collection[int]],
    brokers: AbstractSet[int],
    down: AbstractSet[int],
    events: Events,
    seconds: float,
    how: How = "kill",
) -> Iterator[None]:
    """Takes brokers away, where `down` are already; without brokers nothing happens.

    `replicas` of each topic, which has one partition; `seconds` that the controller may take.
    """
    if not brokers:
        yield
        return
    with nodes_down(kafka.kafka, [kafka.broker(b).name for b in sorted(brokers)], how=how, events=events):
        _reacted(kafka, replicas, brokers | down, seconds)
        yield
    _reacted(kafka, replicas, down, seconds)


def _reacted(
    kafka: KafkaRacks, replicas: Mapping[str, Collection[int]], down: AbstractSet[int], seconds: float
) -> None:
    """Waits until each topic has the in-sync replicas that it can have without these brokers, for its leader too."""
    for topic, assigned in replicas.items():
        if left := set(assigned) - down:
            kafka.wait_in_sync(topic, left, seconds)
        else:
            wait_for(f"{topic} to have no leader", partial(_leaderless, kafka, topic), seconds)


def _leaderless(kafka: KafkaRacks, topic: str) -> bool | Pending:
    """True when no partition of the topic has a leader."""
    leaders = [p.leader for p in kafka.kafka.view().partitions if p.topic == topic]
    return leaders == [-1] or Pending(f"leaders {leaders}")
