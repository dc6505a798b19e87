"""Comparison of a cluster with what it was at first, so that another test may use it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it exports them without saying so
    AdminClient,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from pydantic import BaseModel

from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import RackspanError
from harness.common.wait import Pending, wait_for
from harness.hosts.host import ProcessState
from harness.spec.cluster_spec import ClusterSpec

SECONDS = 30.0
Test = TypeVar("Test", bound=Callable[..., Any])
_LAST = "rackspan_last"
_REPLICA = re.compile(r".+-\d+")  # a replica's folder; one that is about to be deleted ends in -delete
_DYNAMIC = {ConfigSource.DYNAMIC_BROKER_CONFIG.value, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value}


class Settings(BaseModel):
    """All that a test could have changed beside topics: the spec, the nodes' files, dynamic settings of brokers."""

    spec: ClusterSpec
    files: dict[str, str]
    dynamic: dict[str, str]


def last_of_its_cluster(test: Test) -> Test:
    """Marks a test that leaves internal topics or a stopped broker behind: the others of its spec run before it."""
    setattr(test, _LAST, True)
    return test


def is_last(test: Callable[..., Any]) -> bool:
    """Checks whether a test bears that mark."""
    return getattr(test, _LAST, False)


def settings(kafka: KafkaCluster) -> Settings:
    """Settings of a cluster whose brokers all run. Raises KafkaException."""
    nodes = kafka.select("all")
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    dynamic: dict[str, str] = {}
    for n in kafka.select("brokers"):  # each answers for itself
        answers = client.describe_configs(
            [ConfigResource(ResourceType.BROKER, str(n.node.id))], request_timeout=SECONDS
        )
        for answer in answers.values():
            entries = answer.result(SECONDS).items()
            dynamic |= {f"{name} of {n.name}": str(e.value) for name, e in entries if e.source in _DYNAMIC}
    return Settings(
        spec=KafkaCluster.open(kafka.name).state.spec,
        files={n.name: n.host.read(n.properties_file) for n in nodes},
        dynamic=dynamic,
    )


def made_reusable(kafka: KafkaCluster, first: Settings) -> str:
    """Removes the topics of the test; returns why the cluster cannot be given to another test, "" if it can.

    All nodes must run, all replicas be in sync, no fault be left in the network, and all settings be as at first.
    Internal topics hold offsets and transactions, and are not removed: a cluster that has some is not given on.
    """
    idle = [n.name for n in kafka.select("all") if n.look()[1] is not ProcessState.RUNNING]
    if idle:
        return f"{', '.join(idle)} not running"
    try:
        kafka.wait_healthy(SECONDS)
        now = settings(kafka)
        if now != first:
            return f"settings are others than at first: {', '.join(_differences(first, now))}"
        topics = {p.topic for p in kafka.view().partitions}
        internal = sorted(t for t in topics if t.startswith("__"))
        if internal:
            return f"internal topics: {', '.join(internal)}"
        _remove_topics(kafka, topics)
    except (RackspanError, KafkaException) as e:
        return e.brief if isinstance(e, RackspanError) else str(e)
    return ""


def _differences(first: Settings, now: Settings) -> list[str]:
    found = ["spec"] if first.spec != now.spec else []
    found += [f"server.properties of {n}" for n in first.files if first.files[n] != now.files.get(n)]
    keys = first.dynamic.keys() | now.dynamic.keys()
    return found + sorted(key for key in keys if first.dynamic.get(key) != now.dynamic.get(key))


def _remove_topics(kafka: KafkaCluster, topics: set[str]) -> None:
    """Removes topics and waits until no broker has a replica of them. Raises WaitTimeout, KafkaException."""
    if not topics:
        return
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    for answer in client.delete_topics(sorted(topics), operation_timeout=SECONDS, request_timeout=SECONDS).values():
        answer.result(SECONDS)

    def gone() -> bool | Pending:
        known = {p.topic for p in kafka.view().partitions}
        if known:
            return Pending(f"topics {sorted(known)}")
        for n in kafka.select("brokers"):
            folders = n.host.shell(f"ls {n.data_dir}").out.split()
            replicas = [f for f in folders if _REPLICA.fullmatch(f) and not f.startswith("__cluster_metadata-")]
            if replicas:
                return Pending(f"{n.name} has {replicas}")
        return True

    wait_for("the topics of the test to be gone", gone, SECONDS)
