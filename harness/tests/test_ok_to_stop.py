"""Rolling restarts that ask first, on a cluster whose distribution has kafka-racks.sh."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.admin.topics import Topics
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import Exit
from harness.spec.cluster_spec import parse
from harness.tests.commands import rackspan
from harness.tests.test_kafka_cluster import home_of

pytestmark = pytest.mark.cluster


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RACKSPAN_HOME", str(tmp_path_factory.mktemp("home")))
        with KafkaCluster.running(
            parse({"name": "asked", "racks": "a:1,b:1", "controllers": 1, "metrics": False})
        ) as running:
            yield running


def test_a_broker_that_may_not_stop_is_restarted_by_force_only(cluster: KafkaCluster) -> None:
    before = cluster.node("b1").look()[0]
    topics = Topics(cluster.bootstrap)
    topics.create("needs-both", [[1, 2]], min_insync_replicas=2)
    refused = rackspan("fault", "roll", "b1", home=home_of(cluster))
    assert refused.returncode == Exit.FAILED and refused.stdout == "", refused
    assert "b1 was not restarted: it may not be shut down now" in refused.stderr
    assert "needs-both-0" in refused.stderr and "`--force`" in refused.stderr
    assert cluster.node("b1").look()[0] == before
    forced = rackspan("fault", "roll", "b1", "--force", home=home_of(cluster))
    assert (forced.returncode, forced.stdout) == (0, "b1\n"), forced.stderr
    forced_once = cluster.node("b1").look()[0]
    assert forced_once != before
    topics.delete("needs-both")
    asked = rackspan("fault", "roll", "b1", home=home_of(cluster))
    assert (asked.returncode, asked.stdout) == (0, "b1\n"), asked.stderr
    assert cluster.node("b1").look()[0] != forced_once
