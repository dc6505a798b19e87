"""Backend docker on an engine that the tests start: images, networks, an outage, and errors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.backends import docker
from harness.backends.docker import DockerBackend
from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.common.progress import Progress
from harness.common.wait import wait_for
from harness.distribution import container_image
from harness.distribution.locate import find
from harness.spec.cluster_spec import parse
from harness.tests.bare_hosts import Hosts, hosts_of
from harness.tests.commands import rackspan
from harness.tests.limits import STUCK

CREATE = ["--create", "--if-not-exists", "--topic", "t", "--replication-factor", "3", "--config", "min.insync.racks=3"]
UNDER = "--under-min-rack-isr-partitions"


@pytest.fixture(scope="module")
def hosts(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts_of("docker", tmp_path_factory.mktemp("hosts") / "docker") as found:
        yield found


def test_an_image_is_made_once_for_each_build(engine: Any, home: Path) -> None:
    tag = container_image.tag_of(find("rackspan"))
    for _ in range(2):
        done = rackspan("image", home=home)
        assert (done.returncode, done.stdout) == (0, f"{tag}\n"), done.stderr
    assert "made (once a build)" not in done.stderr
    ran = engine.containers.run(tag, ["kafka-topics.sh", "--version"], remove=True)
    assert ran.decode().startswith("4.3.1"), ran


@pytest.mark.variant
def test_the_dockerfile_makes_an_equal_image(engine: Any) -> None:
    """On our own image here, since no registry can be requested."""
    kafka = find("rackspan")
    base = container_image.make(engine, kafka, Progress())
    assert f"build/dist/{kafka.version}\n" in (project_root() / "Dockerfile").read_text(encoding="utf-8")
    command = ["docker", "build", "-q", "-t", "rackspan-by-file", "--build-arg", f"BASE={base}", "-f", "Dockerfile"]
    built = subprocess.run([*command, str(kafka.home)], cwd=project_root(), capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    ran = engine.containers.run("rackspan-by-file", ["kafka-topics.sh", "--version"], remove=True)
    assert ran.decode().startswith("4.3.1"), ran


def test_each_rack_is_a_network_that_every_host_is_attached_to(engine: Any, hosts: Hosts) -> None:
    found = {c.name.rpartition("-docker-")[2]: c for c in engine.containers.list()}
    assert set(found) == {"a1", "a2", "b1", "c1", "ctrl-1"}
    for node in hosts.plan.nodes:
        networks = found[node.name].attrs["NetworkSettings"]["Networks"]
        own = networks.pop(f"rackspan-docker-rack-{node.rack}")
        assert own["IPAddress"] == node.address and len(networks) == 2
        assert {int(n["IPAddress"].rpartition(".")[2]) // 64 for n in networks.values()} == {2}
        assert found[node.name].labels == {docker.LABEL: str(hosts.folder)}


def test_a_container_that_ended_is_named_and_started_again(engine: Any, hosts: Hosts) -> None:
    host = hosts.host("b1")
    assert hosts.backend.is_up()
    host.write(f"{host.root}/kept", "text")
    engine.containers.get("rackspan-docker-b1").kill()
    assert not hosts.backend.is_up()
    with pytest.raises(RackspanError) as e:
        host.run(["true"])
    assert e.value.what == "the container of b1 does not answer" and "is not running" in e.value.observed
    assert e.value.do.startswith("bring it back with `rackspan start all`")
    hosts.backend.bring_up(hosts.plan)
    assert hosts.backend.is_up() and host.read(f"{host.root}/kept") == "text"


def test_two_clusters_have_networks_of_their_own(engine: Any, hosts: Hosts, tmp_path: Path) -> None:
    with hosts_of("docker", tmp_path / "other") as other:
        assert other.plan.node("a1").address != hosts.plan.node("a1").address
        assert other.host("a1").run(["hostname"]) == "a1\n"
    assert [c.name for c in engine.containers.list(filters={"label": f"{docker.LABEL}={tmp_path / 'other'}"})] == []


def test_addresses_that_are_taken_are_named(engine: Any, hosts: Hosts, tmp_path: Path) -> None:
    with pytest.raises(RackspanError) as e:
        DockerBackend.at(tmp_path / "taken").bring_up(hosts.plan)
    net = hosts.plan.node("a1").address.rpartition(".")[0]
    assert e.value.what == "cannot make the network of rack a"
    assert "overlaps" in e.value.observed and e.value.do == f"end what uses {net}.0/24; see `docker network ls`"
    DockerBackend.at(tmp_path / "taken").take_down()


def test_without_an_engine_the_backend_docker_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    with pytest.raises(RackspanError) as e:
        DockerBackend.at(tmp_path).prepare()
    assert (e.value.what, e.value.code) == ("no docker engine found", Exit.ENVIRONMENT)
    assert e.value.observed and e.value.do == "start one, or name it in DOCKER_HOST; see `rackspan doctor`"
    DockerBackend.at(tmp_path).take_down()  # nothing was made there


def test_too_many_racks_are_refused() -> None:
    with pytest.raises(RackspanError, match="racks: the backend docker has room for 10, not 11"):
        parse({"backend": "docker", "racks": {f"r{chr(97 + n)}": 1 for n in range(11)}})


@pytest.mark.variant
def test_a_rack_outage_on_containers(engine: Any, tmp_path: Path) -> None:
    """Runs a test of the outage plan, unchanged."""
    command = [sys.executable, "-m", "harness.ducktape_support.session", "--results", str(tmp_path / "results")]
    command += ["--attempts", "2", "--global", "backend=docker", "system_tests/rack_outage/thresholds_test.py"]
    env = {**os.environ, "RACKSPAN_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, cwd=project_root(), env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "1 passed, 0 failed" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
    assert engine.containers.list(all=True, filters={"name": "rackspan-test-"}) == []
    assert engine.networks.list(names=["rackspan-test-"]) == []


def test_compose_file_starts_three_racks(engine: Any) -> None:
    """compose.yaml, as its first lines say: with a rack gone a topic that requires three is listed."""
    compose = next((c for c in (["docker", "compose"], ["docker-compose"]) if works([*c, "version"])), None)
    if compose is None:
        pytest.skip("there is no docker compose: install its plugin, or docker-compose")
    env = {
        **os.environ,
        "IMAGE": container_image.make(engine, find("rackspan"), Progress()),
        "COMPOSE_PROJECT_NAME": "try",
    }

    def run(*command: str) -> str:
        done = subprocess.run([*compose, *command], cwd=project_root(), env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def topics(*command: str) -> str:
        return run("exec", "-T", "a", "kafka-topics.sh", "--bootstrap-server", "a:9092", *command)

    healthy = {"label": "com.docker.compose.project=try", "health": "healthy"}
    try:
        run("up", "-d")
        wait_for("healthy nodes", lambda: len(engine.containers.list(filters=healthy)) == 3, STUCK)
        topics(*CREATE)
        run("kill", "c")
        wait_for("it to be listed", lambda: "Topic: t\t" in topics("--describe", UNDER), STUCK)
    finally:
        run("down", "--volumes")


def works(command: list[str]) -> bool:
    """True if a command can be run and succeeds."""
    return shutil.which(command[0]) is not None and subprocess.run(command, capture_output=True).returncode == 0
