"""A setting of a topic, or a default of the cluster, has another value for a while."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from confluent_kafka import KafkaException

from harness.admin.cluster_defaults import default_of, set_default
from harness.admin.topics import Topics
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import RackspanError, usage_error
from harness.common.wait import Pending, wait_for
from harness.faults.base import Events, NoEvents
from harness.faults.lasting import Lasting, holding

KIND = "setting"


def changed(
    cluster: KafkaCluster, topic: str, name: str, value: object, *, events: Events | None = None
) -> AbstractContextManager[None]:
    """A topic's setting (topic "": the default of the cluster) has this value for the time of a block."""
    return holding(cluster, changed_setting(cluster, topic, name, value, events=events), events)


def changed_setting(
    cluster: KafkaCluster, topic: str, name: str, value: object, *, events: Events | None = None
) -> Lasting:
    """A setting changed, as a fault to be held; each change is also an event `config`. Raises RackspanError."""
    where = topic or "the cluster"

    def look() -> dict[str, Any]:
        return {"topic": topic, "name": name, "value": _own(cluster, topic, name)}

    def make() -> None:
        put(cluster, topic, name, str(value), events)

    data = {"topic": topic, "name": name, "to": str(value)}
    label = f"{name} of {where} changed"
    return Lasting(label, KIND, data, look, make, lambda was: put_back(cluster, was, events))


def put_back(cluster: KafkaCluster, was: Mapping[str, Any], events: Events | None = None) -> None:
    """The value as it was; one that was not set is not set again. Raises RackspanError."""
    put(cluster, was["topic"], was["name"], was["value"], events)


def put(cluster: KafkaCluster, topic: str, name: str, value: str | None, events: Events | None = None) -> None:
    """Sets a value, or with None takes it away. Raises RackspanError with the cluster's own words."""
    if topic:
        try:
            topics = _topics(cluster)
            topics.unset(topic, name) if value is None else topics.set(topic, name, value)
        except KafkaException as e:
            raise _refused(topic, name, value, str(e.args[0].str())) from e
    else:
        cluster.backend.enter()
        try:
            set_default(cluster.alive_brokers(), name, value)
        except RackspanError as e:
            raise _refused("the cluster", name, value, e.observed) from e

    def there() -> bool | Pending:
        now = _own(cluster, topic, name)
        return now == value or Pending(f"it is {now}")

    wait_for(f"{name} of {topic or 'the cluster'} to be {value}", there, 60)  # else what is looked up next may be old
    number = int(value) if value is not None and value.lstrip("-").isdigit() else value
    (events or NoEvents()).event("config", name, "point", {"topic": topic, "to": number})


def _own(cluster: KafkaCluster, topic: str, name: str) -> str | None:
    """The value that is set there, None if none is."""
    if not topic:
        cluster.backend.enter()
        return default_of(cluster.alive_brokers(), name)
    try:
        return _topics(cluster).own(topic, name)
    except KeyError:
        raise usage_error(
            f"topics have no setting {name!r}",
            observed="the cluster does not list it",
            do="see `kafka-configs.sh --describe`",
        ) from None
    except KafkaException as e:
        raise _refused(topic, name, None, str(e.args[0].str())) from e


def _refused(where: str, name: str, value: str | None, observed: str) -> RackspanError:
    to = "" if value is None else f" to {value}"
    return RackspanError(
        f"cannot change {name} of {where}{to}", observed=observed, do="give a value that the cluster takes"
    )


def _topics(cluster: KafkaCluster) -> Topics:
    cluster.backend.enter()
    return Topics(",".join(cluster.alive_brokers()))
