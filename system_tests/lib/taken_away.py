"""Brokers that are taken away for the time of a block, once the controller has reacted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from typing import Literal

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.base import Events
from harness.faults.process import How, nodes_down
from system_tests.lib.electable_set import choose_leader, electable_set, is_led


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
    """Takes brokers away, where `down` are already, and waits for their return; without brokers nothing happens.

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
    """Waits until each topic has the in-sync replicas that it can have without these brokers, for its leader too.

    It can have no leader while its electable set is down. Where all of the set came back from an unclean shutdown, one
    of it is chosen, as an operator would: processes that were killed have all that was acknowledged.
    """
    for topic, assigned in replicas.items():
        if not (left := set(assigned) - down):
            wait_for(f"{topic} to have no leader", partial(is_led, kafka, topic, -1), seconds)
        elif wait_for(f"a leader of {topic}", partial(_found_leader, kafka, topic, down), seconds) == "elected":
            kafka.wait_in_sync(topic, left, seconds)
        elif (electable := electable_set(kafka, topic)).is_lost and (back := electable.members - down):
            choose_leader(kafka, topic, min(back), seconds)
            kafka.wait_in_sync(topic, left, seconds)
        else:
            left -= electable.unclean
            wait_for(f"the ISR of {topic} to be {sorted(left)}", partial(_in_sync, kafka, topic, left), seconds)


def _found_leader(kafka: KafkaRacks, topic: str, down: AbstractSet[int]) -> Literal["elected", "impossible"] | Pending:
    """Elected when a broker that is up leads the topic, impossible when all of its electable set is down, or came back
    from an unclean shutdown.
    """
    leaders = {p.leader for p in kafka.kafka.view().partitions if p.topic == topic}
    if leaders and leaders.isdisjoint({-1, *down}):
        return "elected"
    electable = electable_set(kafka, topic)
    if leaders == {-1} and electable.members and electable.members <= electable.unclean | down:
        return "impossible"
    return Pending(f"led by {sorted(leaders)}, {electable}, down {sorted(down)}")


def _in_sync(kafka: KafkaRacks, topic: str, wanted: AbstractSet[int]) -> bool | Pending:
    """True when the topic has exactly these in-sync replicas in the metadata."""
    found = [set(p.isr) for p in kafka.kafka.view().partitions if p.topic == topic]
    return found == [wanted] or Pending(f"ISR {found}")
