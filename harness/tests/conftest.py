"""Fixtures of the harness' tests: a state home of their own, and small clusters of the stock distribution."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from harness.admin.topics import Topics
from harness.backends import docker
from harness.cluster import cluster_folders, lifecycle
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.process_tree import end_on_signals
from harness.load.resident import ResidentClient, resident_client
from harness.network.bridges import settle
from harness.network.netns_support import attempt
from harness.spec.cluster_spec import ClusterSpec, parse
from harness.tests import docker_engine as engines
from harness.tests.load_broker import LIBS

settings.register_profile("shared machine", deadline=None)  # other work may delay an example
settings.load_profile("shared machine")


def pytest_configure(config: pytest.Config) -> None:
    """Signals end the tests, also in the background of a script. An ordinary user's tests get a network of their own,
    before there are threads: root's need none.
    """
    end_on_signals()
    if not attempt().skip_reason:
        settle()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a cluster come last, one after another: it does not wait for them, nor for the session's end."""
    items.sort(key=lambda item: "shared" in getattr(item, "fixturenames", ()))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Commands are begun from the machine's own network, also where a test has entered another one."""
    if commands := sys.modules.get("harness.tests.commands"):  # some test runs one
        commands.be_ready()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh state home; clusters that a test leaves in it are removed."""
    monkeypatch.setenv("RACKSPAN_HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    for name in cluster_folders.remains():
        lifecycle.remove(name)


@pytest.fixture
def brief_jvms(monkeypatch: pytest.MonkeyPatch) -> None:
    """JVMs that begin in this test compile as those of a few seconds do."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="session")
def session_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One cluster for all tests that share it: a broker and a controller in each of three racks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RACKSPAN_HOME", str(tmp_path_factory.mktemp("home")))
        with KafkaCluster.running(small("shared", racks="a:1,b:1,c:1", controllers=3)) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def shared(session_cluster: KafkaCluster) -> Iterator[KafkaCluster]:
    """The cluster that tests share; the topics of a module are removed behind it."""
    yield session_cluster
    session_cluster.wait_healthy(60)
    topics = Topics(session_cluster.bootstrap)
    for name in {p.topic for p in session_cluster.view().partitions}:
        topics.delete(name)


@pytest.fixture(scope="session")
def resident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResidentClient]:
    """One load client for all tests, on the stock client library."""
    with resident_client(tmp_path_factory.mktemp("resident") / "client", LIBS) as client:
        yield client


@pytest.fixture(scope="session")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[engines.Engine]:
    """An engine of docker for all tests; skipped, with the reason, where there can be none."""
    if skip_reason := engines.skip_reason():
        pytest.skip(f"no docker engine can run here: {skip_reason}")
    with engines.engine(tmp_path_factory.mktemp("engine")) as found:
        yield found


@pytest.fixture(scope="module")
def engine(docker_engine: engines.Engine) -> Iterator[Any]:
    """A client of the engine, from where its networks are reached."""
    with docker_engine.entered(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", docker_engine.where)
        yield docker.engine()


def small(name: str, racks: str = "a:1", controllers: int = 1, **more: object) -> ClusterSpec:
    """A spec of few nodes of the stock distribution."""
    return parse({"name": name, "distribution": "stock", "racks": racks, "controllers": controllers, **more})
