"""The image's entry point: settings from variables and files, cluster ids, errors. test_container_image.py runs it in
containers.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import yaml

from harness.common.paths import project_root
from harness.distribution import container_image as image
from harness.tests.entry_point import SOURCE, Container

SEVERAL = {
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_NODE_ID": "1",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@a:9093,2@b:9093,3@c:9093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
}
ID = "u1f0mCSBTk6UBl3gqAEYdg"


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_variables_become_settings_as_in_the_official_image(container: Container) -> None:
    variables = {
        **SEVERAL,
        "KAFKA_MIN_INSYNC_RACKS": "2",
        "KAFKA_BROKER_RACK": "zone a=1",
        "KAFKA_SOME__KEY_WITH___BOTH": "x",
    }
    ignored = dict.fromkeys(("KAFKA_HEAP_OPTS", "KAFKA_JVM_PERFORMANCE_OPTS"), "-Xmx300M")
    ignored |= {"KAFKA_OPTS": "-Da=b", "KAFKA_VERSION": "4.3.1", "KAFKA_LOG4J_ROOT_LOGLEVEL": "WARN", "MIN_ISR": "3"}
    found = container.settings(CLUSTER_ID=ID, **variables, **ignored)
    assert found == {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@a:9093,2@b:9093,3@c:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "min.insync.racks": "2",
        "broker.rack": "zone a=1",
        "some_key.with-both": "x",
        "log.dirs": str(container["DATA"]),  # Kafka's own default would go with the container
    }
    assert f"cluster.id={ID}" in (container["DATA"] / "meta.properties").read_text()
    assert '"WARN"' in (container["SETTINGS"] / "log4j2.yaml").read_text()
    assert container["SETTINGS"].stat().st_mode & 0o777 == 0o700


def test_mounted_settings_are_the_base_and_variables_win(container: Container) -> None:
    kept = "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@localhost:9093\n"
    kept += "controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
    logs = container["DATA"] / "below"
    mounted = container["MOUNTED"] / "server.properties"
    mounted.write_text(f"{kept}num.partitions=3\nlog.dirs={logs}\nbroker.rack=a")
    (container["MOUNTED"] / "server.properties").chmod(0o444)
    found = container.settings(KAFKA_NUM_PARTITIONS="5")
    assert (found["num.partitions"], found["broker.rack"], found["log.dirs"]) == ("5", "a", str(logs))
    assert (logs / "meta.properties").is_file() and "num.partitions=3" in mounted.read_text()


def test_stores_and_passwords_are_taken_from_files_by_name(container: Container) -> None:
    for name, text in {"store.p12": "", "password": "of the store"}.items():
        (container["SECRETS"] / name).write_text(text)
    names = {"KAFKA_SSL_KEYSTORE_FILENAME": "store.p12", "KAFKA_SSL_KEYSTORE_CREDENTIALS": "password"}
    refused = container.start(CLUSTER_ID=ID, **SEVERAL, **names, KAFKA_SSL_TRUSTSTORE_FILENAME="gone")
    assert refused.returncode == 2 and f"no readable file {container['SECRETS']}/gone" in refused.stderr
    del (several := dict(SEVERAL))["KAFKA_LISTENERS"]
    several |= {"KAFKA_PROCESS_ROLES": "broker", "KAFKA_NODE_ID": "4"}
    advertised = {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://here:9092,OUTSIDE://there:19092"}
    advertised["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"] = "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT"
    found = container.settings(CLUSTER_ID=ID, **several, **names, **advertised)
    assert found["ssl.keystore.location"] == f"{container['SECRETS']}/store.p12"
    assert found["ssl.keystore.password"] == "of the store" and "ssl.keystore.filename" not in found
    assert found["listeners"] == "PLAINTEXT://0.0.0.0:9092,OUTSIDE://0.0.0.0:19092"


def test_nodes_of_several_need_a_cluster_id(container: Container) -> None:
    for changed in ({}, {"KAFKA_PROCESS_ROLES": "broker", "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@a:9093"}):
        refused = container.start(**{**SEVERAL, **changed})
        assert refused.returncode == 2, refused.stderr
        assert refused.stderr.startswith(
            "error: CLUSTER_ID is not set, and this node is one of several (process.roles="
        )
        assert "kafka-storage.sh random-uuid" in refused.stderr and refused.stderr.count("\n") == 1


def test_data_of_another_cluster_is_refused_and_its_own_needs_no_id(container: Container) -> None:
    container["DATA"].mkdir()
    (container["DATA"] / "meta.properties").write_text(f"version=1\ncluster.id={ID}\nnode.id=1\n")
    refused = container.start(**SEVERAL, CLUSTER_ID="another")
    assert refused.returncode == 1
    assert refused.stderr == (
        f"error: CLUSTER_ID is another, but the data of this node belongs to cluster {ID}. "
        "Set that id, or start with an empty volume.\n"
    )
    done = container.start(**SEVERAL)
    assert done.returncode == 0 and done.stdout.startswith(
        f"id={ID} -Dlog4j2.configurationFile={container['SETTINGS']}"
    )


def test_settings_that_kafka_refuses_are_reported(container: Container) -> None:
    refused = container.start(CLUSTER_ID=ID, **SEVERAL | {"KAFKA_NODE_ID": "9"})
    assert refused.returncode == 1 and refused.stderr.startswith("error: cannot prepare this node: ")
    assert "node.id" in refused.stderr or "node id 9" in refused.stderr, refused.stderr
    assert not (container["DATA"] / "meta.properties").exists()


def test_a_command_runs_in_place_of_the_node(container: Container) -> None:
    done = container.start("echo", "a b", KAFKA_PROCESS_ROLES="broker")
    assert (done.returncode, done.stdout) == (0, "a b\n") and not container["SETTINGS"].exists()


def test_paths_of_the_scripts_are_those_of_the_image() -> None:
    """The default folders of the scripts, of the Dockerfile and of the image made here are the same ones."""
    dockerfile = (project_root() / "Dockerfile").read_text()
    script = (SOURCE / "entrypoint.sh").read_text()
    for volume in image.VOLUMES:
        assert f":-{volume}}}" in script and f'"{volume}"' in dockerfile
    assert f"USER {image.USER}\n" in dockerfile and f"HEALTHCHECK {image.HEALTH}\n" in dockerfile
    assert f"{image.KAFKA}/docker/entrypoint.sh" == image.ENTRY and f'ENTRYPOINT ["{image.ENTRY}"]\n' in dockerfile


def test_kafka_takes_the_settings_of_the_compose_file(container: Container) -> None:
    """Three nodes that differ in their name; the port of this machine is the one that clients are given."""
    compose = yaml.safe_load((project_root() / "compose.yaml").read_text())
    for number, (name, service) in enumerate(compose["services"].items(), 1):
        given = service["environment"]
        assert (given["KAFKA_NODE_ID"], given["KAFKA_BROKER_RACK"], service["hostname"]) == (number, name, name)
        assert f"{number}@{name}:9093" in given["KAFKA_CONTROLLER_QUORUM_VOTERS"].split(",")
        assert given["KAFKA_ADVERTISED_LISTENERS"] == f"INSIDE://{name}:9092,OUTSIDE://localhost:{number}9092"
        assert service["ports"] == [f"127.0.0.1:{number}9092:19092"]
        # Compose takes a volume of one letter for a drive of Windows.
        assert service["volumes"] == [f"data-{name}:{image.VOLUMES[1]}"] and f"data-{name}" in compose["volumes"]
    found = container.settings(**{key: str(value) for key, value in given.items()})
    assert (found["broker.rack"], found["node.id"]) == ("c", "3")


def test_a_port_without_answers_is_no_health(container: Container) -> None:
    """With TLS, which needs more than a script to ask, the port is enough."""
    settings = container["SETTINGS"] / "server.properties"
    assert "the node has not started" in container.health()
    settings.parent.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        settings.write_text(
            f"listeners=OUT://127.0.0.1:{port},IN://:1\nlistener.security.protocol.map=IN:SSL,OUT:PLAINTEXT\n"
        )
        assert f"127.0.0.1:{port} (OUT) does not answer" in container.health()
        with settings.open("a") as file:
            file.write("listener.security.protocol.map=IN:PLAINTEXT,OUT:SASL_SSL\n")
        assert container.health() == ""
    assert f"nothing listens on 127.0.0.1:{port} (OUT)" in container.health()
