"""The electable set of a topic with one partition, and what an operator does when all of it is lost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from harness.admin.reassignment import places, submit
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks


@dataclass(frozen=True)
class ElectableSet:
    """Brokers of the set, and those of them that may lack records since an unclean shutdown."""

    members: frozenset[int]
    unclean: frozenset[int]

    @property
    def is_lost(self) -> bool:
        """True if all members may lack records: only an operator gives the partition a leader."""
        return bool(self.members) and self.members == self.unclean


def electable_set(kafka: KafkaRacks, topic: str) -> ElectableSet:
    """The set as kafka-topics.sh describes it; empty where there is none."""
    text = kafka.tool("kafka-topics.sh", "--describe", "--topic", topic)
    found = re.search(r"Electable: ([\d,]+)(?: \(may lack records: ([\d,]+)\))?", text)
    members, unclean = (found[1], found[2] or "") if found else ("", "")
    return ElectableSet(_ids(members), _ids(unclean))


def choose_leader(kafka: KafkaRacks, topic: str, broker: int, seconds: float) -> None:
    """Elects a leader that may lack records: the wanted one is put first in the assignment, which moves nothing."""
    order = sorted(places(kafka.kafka, topic)[0], key=lambda replica: replica != broker)
    submit(kafka.kafka, topic, {0: order})
    wait_for(f"{broker} to be first of {topic}", lambda: places(kafka.kafka, topic)[0] == order, seconds)
    kafka.tool("kafka-leader-election.sh", "--election-type", "unclean", "--topic", topic, "--partition", "0")
    wait_for(f"{topic} to be led by {broker}", partial(is_led, kafka, topic, broker), seconds)


def is_led(kafka: KafkaRacks, topic: str, broker: int) -> bool | Pending:
    """True when this broker leads the topic; -1 stands for nobody."""
    leaders = [p.leader for p in kafka.kafka.view().partitions if p.topic == topic]
    return leaders == [broker] or Pending(f"leaders {leaders}")


def _ids(text: str) -> frozenset[int]:
    return frozenset(map(int, filter(None, text.split(","))))
