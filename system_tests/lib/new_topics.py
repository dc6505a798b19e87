"""Topics that every broker knows when they are made: a client that does not retry may then ask any of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness.admin.topics import Topics
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.run_folder.run_folder import RunFolder

SECONDS = 60.0


class KnownTopics(Topics):
    """Admin operations on the cluster of a test."""

    def __init__(self, kafka: KafkaRacks, run: RunFolder) -> None:
        super().__init__(kafka.bootstrap, run)
        self._kafka = kafka

    def create(self, name: str, assignment: Sequence[Sequence[int]], **settings: object) -> None:
        """Makes a topic. Waits until all running brokers have its metadata, and leaders, where it has any, serve it.

        Raises KafkaException, WaitTimeout.
        """
        super().create(name, assignment, **settings)
        leaders: list[int] = []
        for endpoint in self._kafka.kafka.alive_brokers():
            known = partial(_leaders, endpoint, name)
            leaders = wait_for(f"{endpoint} to know {name}", known, SECONDS)
        for partition, leader in enumerate(leaders):
            if leader >= 0:
                wait_for(f"the leader of {name}-{partition}", partial(self._is_served, name, partition), SECONDS)

    def _is_served(self, name: str, partition: int) -> bool:
        self.high_watermark(name, partition)  # of a leader that does not lead yet: an error, and another attempt
        return True


def _leaders(endpoint: str, name: str) -> list[int] | Pending:
    """Leaders of the partitions, as the broker that is asked knows them; -1 for none."""
    client = AdminClient({"bootstrap.servers": endpoint, "log_level": 0})
    try:
        topic = client.list_topics(timeout=10).topics.get(name)
    except KafkaException as e:
        return Pending(str(e))
    return [p.leader for _, p in sorted(topic.partitions.items())] if topic else Pending("unknown")
