"""Scripts of the distribution's bin/ against a real cluster."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.cluster.cluster_view import view
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import Exit
from harness.common.paths import claim_block, clusters_folder, project_root, release_block
from harness.common.wait import Pending, wait_for
from harness.distribution.locate import find
from harness.tests.kafka_tools import script, tool
from harness.tests.limits import STUCK

pytestmark = pytest.mark.cluster
ALL_OF_IT = "--remove is for all of the cluster: give it with --level 0, without --set and --topic."


@pytest.fixture(scope="module")
def cluster(cluster: KafkaCluster) -> KafkaCluster:
    tool(cluster, "kafka-topics", "--create", "--topic", "t", "--partitions", "1", "--replication-factor", "2")
    return cluster


def test_records_are_produced_and_consumed(cluster: KafkaCluster) -> None:
    tool(cluster, "kafka-console-producer", "--topic", "t", stdin="one\ntwo\n")
    read = ("--topic", "t", "--from-beginning", "--max-messages", "2", "--timeout-ms", "30000", "--group", "t-readers")
    assert tool(cluster, "kafka-console-consumer", *read) == "one\ntwo\n"
    assert " t " in tool(cluster, "kafka-consumer-groups", "--describe", "--group", "t-readers")
    load = ("--topic", "t", "--num-records", "10", "--record-size", "10", "--throughput", "-1")
    done = script("kafka-producer-perf-test", *load, "--bootstrap-server", cluster.bootstrap)
    assert "10 records sent" in done.stdout, done.stderr


def test_settings_are_altered_and_topics_described(cluster: KafkaCluster) -> None:
    tool(cluster, "kafka-configs", "--alter", "--topic", "t", "--add-config", "min.insync.racks=2")
    assert "min.insync.racks=2" in tool(cluster, "kafka-configs", "--describe", "--topic", "t")
    assert "Topic: t" in tool(cluster, "kafka-topics", "--describe", "--at-min-rack-isr-partitions")
    assert tool(cluster, "kafka-topics", "--describe", "--under-min-rack-isr-partitions").strip() == ""


def test_leaders_and_replicas_are_reassigned(cluster: KafkaCluster, tmp_path: Path) -> None:
    first, second = (n.id for n in cluster.plan.brokers)
    plan = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [second, first]}]}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    move = ("--reassignment-json-file", str(file))
    assert "Successfully started" in tool(cluster, "kafka-reassign-partitions", *move, "--execute")

    def moved() -> bool | Pending:
        text = tool(cluster, "kafka-topics", "--describe", "--topic", "t")
        return f"Replicas: {second},{first}" in text or Pending(text)

    wait_for("the reassignment to end", moved, STUCK)
    tool(cluster, "kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions")
    assert f"Leader: {second}" in tool(cluster, "kafka-topics", "--describe", "--topic", "t")


def test_quorum_features_and_versions_are_described(cluster: KafkaCluster) -> None:
    assert "LeaderId:" in tool(cluster, "kafka-metadata-quorum", "describe", "--status")
    assert "metadata.version" in tool(cluster, "kafka-features", "describe")
    assert "Produce(0): " in tool(cluster, "kafka-broker-api-versions")
    tool(cluster, "kafka-console-producer", "--topic", "t", stdin="one\n")
    data = next((clusters_folder() / cluster.name / "a1" / "data").glob("t-0/*.log"))
    assert "baseOffset: 0" in script("kafka-dump-log", "--files", str(data)).stdout


def test_settings_unknown_to_stock_are_listed_and_removed(cluster: KafkaCluster) -> None:
    at = ("--bootstrap-server", cluster.bootstrap)
    default = ("--alter", "--entity-type", "brokers", "--entity-default")
    tool(cluster, "kafka-configs", *default, "--add-config", "min.insync.racks=1,acks.all.scope=isr")
    to_stock = ("kafka-racks", "preflight", "--level", "0", *at)
    found = script(*to_stock)
    *listed, hint, _ = found.stdout.splitlines()  # topics of other tests come first, if there are any
    own = ["brokers - acks.all.scope=isr min.insync.racks=1", "feature rackspan.version=2"]
    assert (found.returncode, listed[-2:]) == (1, own), found
    assert all(line.startswith("topics ") for line in listed[:-2]), found
    assert hint.startswith("stock Kafka does not know these. Stop clients that send "), found
    assert hint.endswith(", then remove them with --remove"), found
    document = json.loads(script(*to_stock, "-o", "json").stdout)
    settings = {"acks.all.scope": "isr", "min.insync.racks": "1"}
    assert document["answer"] == "no" and document["unknownToStock"]["level"] == 2
    assert {"type": "brokers", "name": "", "settings": settings} in document["unknownToStock"]["settings"], document
    removed = script(*to_stock, "--remove")
    clean = script(*to_stock)
    for at_stock in (removed, clean):
        assert at_stock.returncode == 0, at_stock
        assert at_stock.stdout.startswith("nothing is set that stock Kafka does not know\n"), at_stock
    tool(cluster, "kafka-features", "upgrade", "--feature", "rackspan.version=2")


def test_the_preflight_for_stock_knows_every_setting_of_the_patches() -> None:
    patches = (project_root() / "kafka-patch" / "patches").glob("*.patch")
    added = {
        n for p in patches for n in re.findall(r'^\+.* ([A-Z_]+_CONFIG) = "[a-z.]+";', p.read_text(), re.MULTILINE)
    }
    tool = project_root() / "kafka-patch/src/main/kafka-tools/java/io/rackspan/tools/racks/StockSettings.java"
    listed = set(re.findall(r"TopicConfig\.([A-Z_]+_CONFIG)", tool.read_text()))
    assert added == listed and len(added) >= 3


def test_a_server_is_formatted_started_and_stopped(tmp_path: Path) -> None:
    home = find("rackspan").home
    config = tmp_path / "server.properties"
    block = claim_block(tmp_path)
    address = f"127.{block}.255.1"
    disks = [tmp_path / "first", tmp_path / "second"]
    text = (home / "config" / "server.properties").read_text().replace("127.0.0.1", address)
    config.write_text(text.replace("log.dirs=data", f"log.dirs={disks[0]},{disks[1]}"))
    identity = script("kafka-storage", "random-uuid").stdout.strip()
    # An id may start with a dash, which only this form takes.
    done = script("kafka-storage", "format", f"--cluster-id={identity}", "--standalone", "-c", str(config))
    assert done.returncode == 0, done.stderr + done.stdout
    own = {"LOG_DIR": str(tmp_path / "logs"), "JMX_PORT": "9999"}
    own["KAFKA_JMX_OPTS"] = " ".join(
        f"-D{key}={value}"
        for key, value in {
            "com.sun.management.jmxremote.host": address,
            "java.rmi.server.hostname": address,
            "com.sun.management.jmxremote.authenticate": "false",
            "com.sun.management.jmxremote.ssl": "false",
        }.items()
    )
    started = script("kafka-server-start", "-daemon", str(config), fast=False, env=own)
    assert started.returncode == 0, started.stderr
    try:
        wait_for("the server", lambda: view([f"{address}:9092"]).racks or Pending("no broker"), STUCK)
        moved_to_the_other_disk(f"{address}:9092", disks, tmp_path)
        url = f"service:jmx:rmi:///jndi/rmi://{address}:9999/jmxrmi"
        state = ("--object-name", "kafka.server:type=KafkaServer,name=BrokerState", "--one-time")
        assert (
            '"kafka.server:type=KafkaServer,name=BrokerState:Value"'
            in script("kafka-jmx", "--jmx-url", url, *state).stdout
        )
        for other in (("--node-id=7",), ("--process-role", "observer"), (str(tmp_path / "other.properties"),)):
            assert script("kafka-server-stop", *other).returncode == 1
    finally:
        stopped = script("kafka-server-stop", str(config), "--node-id=1", "--process-role", "broker")
    assert stopped.stdout == "asked 1 server(s) to stop\n"
    wait_for(
        "the server's end", lambda: script("kafka-server-stop", str(config)).returncode == 1 or Pending("on"), STUCK
    )
    gone = script("kafka-server-stop", str(config))
    release_block(tmp_path, block)
    assert gone.stderr == f"no server of this distribution is running with {config}\n"
    for name in ("server.log", "kafkaServer.out", "kafkaServer-gc.log"):
        assert (tmp_path / "logs" / name).stat().st_size > 0, name


def moved_to_the_other_disk(bootstrap: str, disks: list[Path], tmp_path: Path) -> None:
    """Moves a replica between the log folders of its broker."""
    at = ("--bootstrap-server", bootstrap)
    made = script("kafka-topics", *at, "--create", "--topic", "t", "--partitions", "1", "--replication-factor", "1")
    assert made.returncode == 0, made
    target = next(disk for disk in disks if not (disk / "t-0").exists())
    move = {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": [str(target)]}
    file = tmp_path / "move.json"
    file.write_text(json.dumps({"version": 1, "partitions": [move]}))
    done = script("kafka-reassign-partitions", *at, "--reassignment-json-file", str(file), "--execute")
    assert done.returncode == 0, done
    wait_for("the replica in the other folder", (target / "t-0").exists, STUCK)
    described = script("kafka-log-dirs", *at, "--describe", "--topic-list", "t").stdout
    found = json.loads(described[described.index("{") :])["brokers"][0]["logDirs"]
    assert [d["logDir"] for d in found if any(p["partition"] == "t-0" for p in d["partitions"])] == [str(target)]


def test_the_build_is_named() -> None:
    distribution = find("rackspan")
    assert script("kafka-topics", "--version").stdout == "4.3.1 (Commit:26b251a451ce941d-rackspan-1)\n"
    own = script("rackspan-kafka", "--version")
    assert own.stdout == f"rackspan-kafka 4.3.1-1: Apache Kafka 4.3.1 with {len(distribution.patches)} patches\n", own
    wrong = script("rackspan-kafka", "--versoin")
    assert (wrong.returncode, wrong.stderr) == (Exit.USAGE, "usage: rackspan-kafka.sh --version\n")


def test_questions_about_racks_are_answered_or_refused(cluster: KafkaCluster, tmp_path: Path) -> None:
    at = ("--bootstrap-server", cluster.bootstrap)
    status = script("kafka-racks", "status", *at)
    assert status.stdout.startswith("rackspan.version ") and "in racks a, b\n" in status.stdout, status
    for arguments, text in (
        (("ok-to-stop", "9"), "Broker 9 is not registered. Brokers: [1, 2].\n"),
        (("what-if",), "Give either --lose or --all-racks.\n"),
        (("preflight", "--level", "1", "--remove"), f"{ALL_OF_IT}\n"),
        (("preflight", "--level", "0", "--remove", "--topic", "t"), f"{ALL_OF_IT}\n"),
        (("what-if", "--lose", "c"), "'c' is neither a rack nor a registered broker. Racks: a, b; brokers: [1, 2].\n"),
        (("status", "--topic", "none"), "Topic 'none' is not there. Name one that is, or leave --topic out.\n"),
    ):
        wrong = script("kafka-racks", *arguments, *at)
        assert (wrong.returncode, wrong.stderr) == (Exit.USAGE, f"kafka-racks.sh: {text}"), wrong
    client = tmp_path / "client.properties"
    client.write_text("default.api.timeout.ms=2000\nrequest.timeout.ms=1000\n")
    silent = script("kafka-racks", "status", "--bootstrap-server", "127.0.0.1:1", "--command-config", str(client))
    assert silent.returncode == 3 and "The answer could not be known; correct that" in silent.stderr, silent


def test_wrong_options_print_the_usage() -> None:
    for arguments in ((), ("--bootstrap-server",), ("--delete",)):
        wrong = script("kafka-racks", *arguments)
        assert wrong.returncode == Exit.USAGE and "usage: kafka-racks.sh" in wrong.stderr, wrong
    assert script("kafka-run-class").returncode == 1  # as those of Apache Kafka
    assert "usage: kafka-server-start.sh [-daemon] server.properties" in script("kafka-server-start").stderr
    without = script("kafka-topics", "--version", env={"JAVA_HOME": "/nowhere"})
    assert without.returncode == Exit.ENVIRONMENT and "no java: JAVA_HOME is '/nowhere'" in without.stderr
