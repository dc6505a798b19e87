"""A setting of a topic, or of the whole cluster, has another value for a while."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from confluent_kafka import KafkaException

from harness.cluster import KafkaCluster
from harness.errors import RackspanError, usage_error
from harness.faults.base import Events, NoEvents
from harness.faults.lasting import Lasting, holding
from harness.services.topics import Topics

KIND = "setting"
_DEFAULT = ("--entity-type", "brokers", "--entity-default")


def changed(
    cluster: KafkaCluster, topic: str, name: str, value: object, *, events: Events | None = None
) -> AbstractContextManager[None]:
    """A topic's setting (topic "": the default of the cluster) has this value for the time of a block."""
    return holding(cluster, changed_setting(cluster, topic, name, value, events=events), events)


def changed_setting(
    cluster: KafkaCluster, topic: str, name: str, value: object, *, events: Events | None = None
) -> Lasting:
    """As a fault to be held; each change is also an event `config`. Raises RackspanError."""
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
        change = ["--delete-config", name] if value is None else ["--add-config", f"{name}={value}"]
        try:
            _tool(cluster, "--alter", *change)
        except RackspanError as e:
            raise _refused("the cluster", name, value, e.seen) from e
    number = int(value) if value is not None and value.lstrip("-").isdigit() else value
    (events or NoEvents()).event("config", name, "point", {"topic": topic, "to": number})


def _own(cluster: KafkaCluster, topic: str, name: str) -> str | None:
    """The value that is set there, None if none is."""
    if not topic:
        found = re.search(rf"^\s*{re.escape(name)}=(.*?) sensitive=", _tool(cluster, "--describe"), re.MULTILINE)
        return found[1] if found else None
    try:
        return _topics(cluster).own(topic, name)
    except KeyError:
        raise usage_error(
            f"topics have no setting {name!r}",
            seen="the cluster does not list it",
            do="see `kafka-configs.sh --describe`",
        ) from None
    except KafkaException as e:
        raise _refused(topic, name, None, str(e.args[0].str())) from e


def _refused(where: str, name: str, value: str | None, seen: str) -> RackspanError:
    to = "" if value is None else f" to {value}"
    return RackspanError(f"cannot change {name} of {where}{to}", seen=seen, do="give a value that the cluster takes")


def _topics(cluster: KafkaCluster) -> Topics:
    cluster.backend.enter()
    return Topics(",".join(cluster.alive_brokers()))


def _tool(cluster: KafkaCluster, *arguments: str) -> str:
    """Kafka's own tool: the client libraries take no default of all brokers."""
    node = next((n for n in cluster.select("brokers") if n.node.endpoint in cluster.alive_brokers()), None)
    if node is None:
        raise RackspanError("no broker answers", seen="no broker process runs", do="start one with `rackspan start`")
    tool = [node.distribution.script("kafka-configs.sh"), "--bootstrap-server", node.node.endpoint]
    return node.host.run([*tool, *_DEFAULT, *arguments], env=node.tool_environment())
