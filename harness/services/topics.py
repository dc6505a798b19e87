"""Topics and settings through the admin client: made, changed, described, with offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from harness.results import RunFolder

SECONDS = 20.0
MIN_RACKS = "min.insync.racks"
MIN_REPLICAS = "min.insync.replicas"


class Topics:
    """Admin operations against some brokers; each change of a setting becomes an event of the run."""

    def __init__(self, bootstrap: str, run: RunFolder | None = None) -> None:
        self._client = AdminClient({"bootstrap.servers": bootstrap, "socket.timeout.ms": 10000, "log_level": 0})
        self._bootstrap = bootstrap
        self._run = run

    def create(self, name: str, assignment: Sequence[Sequence[int]], **settings: object) -> None:
        """Makes a topic with these replicas per partition; settings with `_` for `.`. Raises KafkaException."""
        config = {key.replace("_", "."): str(value) for key, value in settings.items()}
        topic = NewTopic(
            name,
            num_partitions=len(assignment),
            replica_assignment=[list(replicas) for replicas in assignment],
            config=config,
        )
        self._client.create_topics([topic], operation_timeout=SECONDS)[name].result(SECONDS)

    def set(self, topic: str, name: str, value: object) -> None:
        """Sets one setting of a topic. Raises KafkaException with the cluster's own words."""
        self._alter(ConfigResource(ResourceType.TOPIC, topic), name, str(value))
        self._note(name, {"topic": topic, "to": _number(value)})

    def set_default(self, name: str, value: object) -> None:
        """Sets one cluster-wide default. Raises KafkaException."""
        self._alter(ConfigResource(ResourceType.BROKER, ""), name, str(value))
        self._note(name, {"cluster": True, "to": _number(value)})

    def unset_default(self, name: str) -> None:
        """Removes one cluster-wide default. Raises KafkaException."""
        self._alter(ConfigResource(ResourceType.BROKER, ""), name, None)
        self._note(name, {"cluster": True, "to": None})

    def set_broker(self, broker: int, name: str, value: object) -> None:
        """Sets one dynamic setting of one broker. Raises KafkaException."""
        self._alter(ConfigResource(ResourceType.BROKER, str(broker)), name, str(value))

    def config(self, topic: str) -> Mapping[str, ConfigEntry]:
        """The settings of a topic in force, with their synonyms."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        found: Mapping[str, ConfigEntry] = self._client.describe_configs([resource])[resource].result(SECONDS)
        return found

    def high_watermark(self, topic: str, partition: int = 0) -> int:
        """What consumers can read up to. Raises KafkaException."""
        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": "watermark", "log_level": 0})
        try:
            _, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=SECONDS)
            return int(high)
        finally:
            consumer.close()

    def _alter(self, resource: ConfigResource, name: str, value: str | None) -> None:
        operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        resource.add_incremental_config(ConfigEntry(name, value or "", incremental_operation=operation))
        self._client.incremental_alter_configs([resource])[resource].result(SECONDS)

    def _note(self, name: str, data: Mapping[str, object]) -> None:
        if self._run is not None:
            self._run.event("config", name, "point", data)


def _number(value: object) -> object:
    text = str(value)
    return int(text) if text.lstrip("-").isdigit() else text
