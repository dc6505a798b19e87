"""The cluster on which scripts are tried, one for all of them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from harness.cluster.kafka_cluster import KafkaCluster
from harness.spec.cluster_spec import parse


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Two racks, and users."""
    settings = {"delegation.token.secret.key": secrets.token_urlsafe(24)}
    spec = {"name": "tools", "racks": "a:1,b:1", "controllers": 1, "users": ["ann", "bob"], "settings": settings}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RACKSPAN_HOME", str(tmp_path_factory.mktemp("home")))
        with KafkaCluster.running(parse(spec | {"metrics": False})) as running:
            yield running
