"""Faults on a real cluster that all tests here share: each is seen to hold, and to be healed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.cluster import KafkaCluster
from harness.faults.process import nodes_down
from harness.services.topics import Topics
from harness.tests.commands import rackspan
from harness.tests.test_cluster import Record, home_of

pytestmark = pytest.mark.cluster

TOPIC = "faults"


@pytest.fixture(scope="module")
def made(shared: KafkaCluster) -> KafkaCluster:
    """The module's cluster with a topic whose partitions are led by each broker in turn."""
    Topics(shared.bootstrap).create(TOPIC, [[1, 2, 3], [2, 3, 1], [3, 1, 2]], min_insync_replicas=2)
    return shared


@pytest.fixture
def cluster(made: KafkaCluster) -> Iterator[KafkaCluster]:
    """The same, healthy before each test."""
    made.wait_healthy(60)
    yield made


def leader(cluster: KafkaCluster, partition: int = 0) -> int:
    return next(p.leader for p in cluster.view().partitions if (p.topic, p.partition) == (TOPIC, partition))


def test_roles_are_looked_up_when_the_fault_comes(cluster: KafkaCluster) -> None:
    record = Record()
    before = leader(cluster)
    with nodes_down(cluster, f"leader:{TOPIC}-0", how="pause", events=record) as names:
        assert [cluster.node(n).node.id for n in names] == [before]
        assert cluster.node_states(names) == {names[0]: "paused"}
    data = {"nodes": names, "ids": [before], "asked": [f"leader:{TOPIC}-0"], "how": "pause"}
    assert [(e[1], e[2], e[3]) for e in record.events] == [
        ("nodes_down", "begin", data),
        ("nodes_down", "end", data),
        ("nodes_down healed", "point", data),
    ]
    active = next(n.name for n in cluster.plan.controllers if n.id == cluster.view().leader)
    killed = rackspan("kill", "controller", home=home_of(cluster))
    assert killed.returncode == 0, killed.stderr
    assert [line.split() for line in killed.stdout.splitlines()[1:]] == [[active, "running", "stopped"]]
    cluster.start(active)
