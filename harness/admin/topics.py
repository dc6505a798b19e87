"""Topics and settings through the admin client: made, changed, described, with offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from confluent_kafka import TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it exports them without saying so
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from harness.cluster.refusals import MIN_RACKS as MIN_RACKS
from harness.cluster.refusals import MIN_REPLICAS as MIN_REPLICAS
from harness.common.wait import wait_for
from harness.run_folder.run_folder import RunFolder

SECONDS = 60.0


class Topics:
    """Admin operations against some brokers; each change of a setting becomes an event of the run.

    `seconds` is how long a broker may take to answer.
    """

    def __init__(self, bootstrap: str, run: RunFolder | None = None, seconds: float = SECONDS) -> None:
        self._bootstrap = bootstrap
        self._seconds = seconds
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
        client.create_topics([topic], operation_timeout=self._seconds, request_timeout=self._seconds)[name].result(
            self._seconds
        )

    def id(self, name: str) -> UUID:
        """The topic's id. Raises KafkaException."""
        client = self._client()  # kept until the answer is there
        described = client.describe_topics(TopicCollection([name]), request_timeout=self._seconds)
        found = described[name].result(self._seconds).topic_id
        high, low = found.get_most_significant_bits(), found.get_least_significant_bits()
        return UUID(int=(high % 2**64) << 64 | low % 2**64)

    def delete(self, name: str) -> None:
        """Removes a topic with all its records. Raises KafkaException."""
        client = self._client()
        client.delete_topics([name], operation_timeout=self._seconds, request_timeout=self._seconds)[name].result(
            self._seconds
        )

    def set(self, topic: str, name: str, value: object) -> None:
        """Sets one setting of a topic. Raises KafkaException with the cluster's own words."""
        self._alter(ConfigResource(ResourceType.TOPIC, topic), name, str(value))
        self._reported(topic, name, value)

    def unset(self, topic: str, name: str) -> None:
        """Takes a topic's own value of a setting away. Raises KafkaException."""
        self._alter(ConfigResource(ResourceType.TOPIC, topic), name, None)
        self._reported(topic, name, None)

    def own(self, topic: str, name: str) -> str | None:
        """The topic's own value of a setting, None if it has none. Raises KafkaException, KeyError."""
        found = self._config(topic)[name]
        source: object = found.source  # a number, whatever the library says of it
        return found.value if source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value else None

    def _reported(self, topic: str, name: str, value: object) -> None:
        if self._run is not None:
            self._run.event("config", name, "point", {"topic": topic, "to": None if value is None else _number(value)})

    def set_broker(self, broker: int, name: str, value: object) -> None:
        """Sets one dynamic setting of one broker and waits until it is in force there. Raises KafkaException."""
        self._alter(ConfigResource(ResourceType.BROKER, str(broker)), name, str(value))
        resource = ConfigResource(ResourceType.BROKER, str(broker))  # the broker answers for itself
        wait_for(f"{name} of broker {broker}", lambda: self._described(resource)[name].value == str(value), 20)

    def config(self, topic: str) -> Mapping[str, ConfigEntry]:
        """The settings of a topic in force, with their synonyms; a broker that does not know it yet is queried again.

        Raises WaitTimeout.
        """
        return wait_for(f"the settings of {topic}", lambda: self._config(topic), 20)

    def _config(self, topic: str) -> Mapping[str, ConfigEntry]:
        return self._described(ConfigResource(ResourceType.TOPIC, topic))

    def _described(self, resource: ConfigResource) -> Mapping[str, ConfigEntry]:
        client = self._client()
        answer = client.describe_configs([resource], request_timeout=self._seconds)
        found: Mapping[str, ConfigEntry] = answer[resource].result(self._seconds)
        return found

    def high_watermark(self, topic: str, partition: int = 0) -> int:
        """The offset up to which consumers can read. Raises KafkaException."""
        where = TopicPartition(topic, partition)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        client = self._client()
        found = client.list_offsets({where: latest}, request_timeout=self._seconds)
        return int(found[where].result(self._seconds).offset)

    def in_sync(self, topic: str) -> int:
        """Replicas in sync, the fewest of the topic's partitions. Raises KafkaException."""
        found = self._client().list_topics(topic, timeout=SECONDS).topics[topic]
        return min(len(p.isrs) for p in found.partitions.values())

    def _client(self) -> AdminClient:
        # A new one each time: a client continues asking the broker that was its "controller" when that broker is down.
        return AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 0})

    def _alter(self, resource: ConfigResource, name: str, value: str | None) -> None:
        """Sets, or with None takes away."""
        how = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        resource.add_incremental_config(ConfigEntry(name, value or "", incremental_operation=how))
        client = self._client()
        client.incremental_alter_configs([resource], request_timeout=self._seconds)[resource].result(self._seconds)


def _number(value: object) -> object:
    text = str(value)
    return int(text) if text.lstrip("-").isdigit() else text
