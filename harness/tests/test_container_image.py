"""The image as its users start it, on an engine of the tests: a node for a first try, and one set by variables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from docker.types import IPAMConfig, IPAMPool

from harness.common.jvm_flags import QUICK
from harness.common.progress import Progress
from harness.common.wait import Pending, wait_for
from harness.distribution import container_image
from harness.distribution.locate import find
from harness.tests.limits import STUCK

NET = "198.19.77"
ADDRESS = f"{NET}.10"
ID = "u1f0mCSBTk6UBl3gqAEYdg"
DATA = "/var/lib/kafka/data"
SMALL = {"KAFKA_HEAP_OPTS": "-Xmx384m", "KAFKA_JVM_PERFORMANCE_OPTS": " ".join(QUICK)}
# As the pods of config/kubernetes have it. A tmpfs of Docker belongs to root; an emptyDir does not.
RESTRICTED: dict[str, Any] = {
    "user": "1000:1000",
    "read_only": True,
    "tmpfs": {"/tmp": "exec", "/opt/kafka/logs": "uid=1000"},
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
}
NODE = {
    **SMALL,
    "CLUSTER_ID": ID,
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_NODE_ID": "7",
    "KAFKA_BROKER_RACK": "a",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": f"7@{ADDRESS}:9093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LISTENERS": f"PLAINTEXT://:9092,CONTROLLER://{ADDRESS}:9093",
    "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://{ADDRESS}:9092",
    "KAFKA_MIN_INSYNC_RACKS": "2",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_SOME__UNKNOWN_KEY": "x",
}


@pytest.fixture(scope="module")
def image(engine: Any) -> str:
    return container_image.make(engine, find("rackspan"), Progress())


@contextmanager
def started(engine: Any, image: str, variables: dict[str, str], **more: Any) -> Iterator[Any]:
    """A container for the time of a `with` block, its volumes included."""
    container = engine.containers.run(image, detach=True, environment=variables, **more)
    try:
        yield container
    finally:
        container.remove(force=True, v=True)


def wait_healthy(container: Any) -> None:
    def health() -> bool | Pending:
        container.reload()
        state = container.attrs["State"]
        assert state["Running"], container.logs()[-3000:]
        return state["Health"]["Status"] == "healthy" or Pending(str(state["Health"])[-400:])

    wait_for("a healthy container", health, STUCK)


def run(container: Any, script: str, code: int = 0) -> str:
    done = container.exec_run(["bash", "-c", script])
    assert done.exit_code == code, done.output
    return str(done.output.decode())


def printed(container: Any, script: str) -> str:
    """The output of a script that changes nothing. A busy engine loses that of a short command now and then."""
    return wait_for(f"output of {script[:60]}", lambda: run(container, script) or Pending("no output"), STUCK)


@pytest.mark.variant
def test_a_container_without_variables_is_a_node_that_keeps_its_records(engine: Any, image: str) -> None:
    """Runs as the user 1000, is healthy, and after a clean shutdown starts on the same volume without formatting."""
    kafka = "kafka-console-{}.sh --bootstrap-server localhost:9092 --topic t"
    read = kafka.format("consumer") + " --from-beginning --max-messages 1 --timeout-ms 60000 2> /dev/null"
    with started(engine, image, SMALL) as node:
        wait_healthy(node)
        assert (
            printed(node, "id -u; ps -o user= -p 1; ps -o args= -p 1 | grep -o kafka.Kafka")
            == "1000\nappuser\nkafka.Kafka\n"
        )
        run(node, f"echo kept | {kafka.format('producer')}")
        node.stop(timeout=60)
        first = node.logs().decode()
        assert f"Formatting metadata directory {DATA}" in first and "shut down completed" in first
        assert "FeatureLevelRecord(name='rackspan.version', featureLevel=2)" in first
        assert node.wait()["StatusCode"] == 143  # by SIGTERM, not by SIGKILL after the time-out
        node.start()
        wait_healthy(node)
        assert node.logs().decode().count("Formatting") == first.count("Formatting")
        assert printed(node, read) == "kept\n"
        run(node, "sed -i 's/:9092/:9099/' /tmp/kafka/server.properties")
        assert "nothing listens on localhost:9099" in run(node, "/opt/kafka/docker/healthcheck.sh", 1)


def test_variables_make_a_node_of_a_rack(engine: Any, image: str) -> None:
    """The rack and the cluster default are in force, without rights and on a read-only file system; data of another
    cluster is refused, in one line.
    """
    net = engine.networks.create("apart", ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=f"{NET}.0/24")]))
    endpoint = {"apart": engine.api.create_endpoint_config(ipv4_address=ADDRESS)}
    try:
        with started(engine, image, NODE, network="apart", networking_config=endpoint, **RESTRICTED) as node:
            wait_healthy(node)
            assert "some_unknown.key=x" in printed(node, "cat /tmp/kafka/server.properties").splitlines()
            client = AdminClient({"bootstrap.servers": f"{ADDRESS}:9092"})
            assert client.describe_cluster().result().nodes[0].rack == "a"
            topics = [NewTopic("two", 1, 1), NewTopic("one", 1, 1, config={"min.insync.racks": "1"})]
            for created in client.create_topics(topics).values():
                created.result()
            assert "INVALID_CONFIG" in refusal("two") and not refusal("one")  # a single replica is never in two racks
            assert stored("one") == "value"
            other = {**NODE, "CLUSTER_ID": "AnotherIdOfACluster1AA"}
            with started(engine, image, other, volumes_from=[node.id]) as wrong:
                assert wrong.wait()["StatusCode"] == 1
                error = wrong.logs().decode()
                assert error.startswith(
                    "error: CLUSTER_ID is AnotherIdOfACluster1AA, but the data of this node belongs"
                )
                assert f"to cluster {ID}. " in error
    finally:
        net.remove()


def refusal(topic: str) -> str:
    """The error of a write with acks=all; "" if it was acknowledged."""
    errors: list[str] = []
    settings = {"bootstrap.servers": f"{ADDRESS}:9092", "acks": "all", "retries": 0, "message.timeout.ms": 60000}
    producer = Producer(settings)
    producer.produce(topic, "value", on_delivery=lambda e, _: errors.append(str(e or "")))
    producer.flush()
    return errors[0]


def stored(topic: str) -> str:
    """The first record of a topic."""
    consumer = Consumer({"bootstrap.servers": f"{ADDRESS}:9092", "group.id": "g"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    record = consumer.poll(STUCK)
    consumer.close()
    assert record is not None
    return str((record.value() or b"").decode())
