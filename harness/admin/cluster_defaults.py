"""Settings of all brokers together, the cluster's dynamic defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from harness.common.errors import RackspanError


class _Admin(KafkaAdminClient):  # type: ignore[misc]  # it has no types
    """The client with the one resource that it, like the other one we use, knows no broker for: any broker will do."""

    @staticmethod
    def _group_config_resources(
        config_resources: Sequence[ConfigResource],
    ) -> tuple[dict[int, list[ConfigResource]], list[ConfigResource]]:
        return {}, list(config_resources)


def default_of(brokers: Sequence[str], name: str) -> str | None:
    """The value set for all brokers, None if none is."""
    with _client(brokers) as admin:
        found = admin.describe_configs([_resource({})], config_filter="all")["broker"][""]
    value: str | None = found.get(name, {}).get("value")
    return value


def set_default(brokers: Sequence[str], name: str, value: str | None) -> None:
    """Sets a value for all brokers, or with None takes it away. Raises RackspanError with the cluster's own words."""
    change = ("DELETE", None) if value is None else ("SET", value)
    with _client(brokers) as admin:
        answer = admin.alter_configs([_resource({name: change})], raise_on_unknown=False, incremental=True)
    if answer["broker"][""] != "OK":
        raise RackspanError(f"cannot set {name} of all brokers", observed=answer["broker"][""], do="give another value")


def _resource(configs: dict[str, tuple[str, str | None]]) -> ConfigResource:
    return ConfigResource(ConfigResourceType.BROKER, "", configs)


@contextmanager
def _client(brokers: Sequence[str]) -> Iterator[KafkaAdminClient]:
    admin = _Admin(bootstrap_servers=list(brokers), client_id="rackspan")
    try:
        yield admin
    finally:
        admin.close()
