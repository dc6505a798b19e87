"""Topics and settings through the admin client: made, changed, described, with offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from confluent_kafka import TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it exports them without saying so
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from harness.results import RunFolder

SECONDS = 60.0
MIN_RACKS = "min.insync.racks"
MIN_REPLICAS = "min.insync.replicas"


class Topics:
    """Admin operations against some brokers; each change of a setting becomes an event of the run."""

    def __init__(self, bootstrap: str, run: RunFolder | None = None) -> None:
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
        client = self._client()
        client.create_topics([topic], operation_timeout=SECONDS, request_timeout=SECONDS)[name].result(SECONDS)

    def set(self, topic: str, name: str, value: object) -> None:
        """Sets one setting of a topic. Raises KafkaException with the cluster's own words."""
        self._alter(ConfigResource(ResourceType.TOPIC, topic), name, str(value))
        if self._run is not None:
            self._run.event("config", name, "point", {"topic": topic, "to": _number(value)})

    def set_broker(self, broker: int, name: str, value: object) -> None:
        """Sets one dynamic setting of one broker. Raises KafkaException."""
        self._alter(ConfigResource(ResourceType.BROKER, str(broker)), name, str(value))

    def config(self, topic: str) -> Mapping[str, ConfigEntry]:
        """The settings of a topic in force, with their synonyms."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        client = self._client()
        answer = client.describe_configs([resource], request_timeout=SECONDS)
        found: Mapping[str, ConfigEntry] = answer[resource].result(SECONDS)
        return found

    def high_watermark(self, topic: str, partition: int = 0) -> int:
        """What consumers can read up to. Raises KafkaException."""
        where = TopicPartition(topic, partition)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        client = self._client()
        found = client.list_offsets({where: latest}, request_timeout=SECONDS)
        return int(found[where].result(SECONDS).offset)

    def _client(self) -> AdminClient:
        # A new one each time: a client goes on asking the broker that was its "controller" when that broker is down.
        return AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 0})

    def _alter(self, resource: ConfigResource, name: str, value: str) -> None:
        resource.add_incremental_config(ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET))
        client = self._client()
        client.incremental_alter_configs([resource], request_timeout=SECONDS)[resource].result(SECONDS)


def _number(value: object) -> object:
    text = str(value)
    return int(text) if text.lstrip("-").isdigit() else text
