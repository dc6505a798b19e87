"""Scripts of the official archive, each started and used once on a real cluster; more of them in test_scripts.py."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.security import client_file
from harness.common.wait import Pending, wait_for
from harness.distribution.locate import find
from harness.spec.topology import SECURE_PORT
from harness.tests.kafka_tools import script, tool, tool_environment
from harness.tests.limits import STUCK

pytestmark = pytest.mark.cluster

# What --help exits with where it is not 1, which Kafka's tools print their usage with.
HELP = {
    "kafka-features": 0,
    "kafka-metadata-quorum": 0,
    "kafka-racks": 0,
    "kafka-run-class": 0,  # goes to java
    "kafka-storage": 0,
    "rackspan-kafka": 2,
    "trogdor": 0,
    "connect-mirror-maker": 255,
}
USAGE = re.compile(r"usage|Option  ", re.IGNORECASE)


def topic(cluster: KafkaCluster, name: str, *lines: str) -> None:
    tool(cluster, "kafka-topics", "--create", "--topic", name, "--partitions", "1", "--replication-factor", "2")
    if lines:
        tool(cluster, "kafka-console-producer", "--topic", name, stdin="".join(f"{line}\n" for line in lines))


def as_user(cluster: KafkaCluster, user: str) -> tuple[str, ...]:
    """The options with which a tool connects as one of the users."""
    secure = f"{cluster.node('a1').node.address}:{SECURE_PORT}"
    return ("--bootstrap-server", secure, "--command-config", str(client_file(cluster.folder, user)))


def test_every_script_prints_its_usage() -> None:
    names = sorted(file.stem for file in (find("rackspan").home / "bin").iterdir())
    with ThreadPoolExecutor(2) as pool:
        for name, done in zip(names, pool.map(lambda name: script(name, "--help"), names), strict=True):
            assert done.returncode == HELP.get(name, 1), (name, done)
            assert USAGE.search(done.stdout + done.stderr), (name, done)


def test_access_is_refused_until_it_is_granted(cluster: KafkaCluster) -> None:
    topic(cluster, "orders")
    write = as_user(cluster, "ann")
    refused = script("kafka-console-producer", *write, "--topic", "orders", stdin="one\n")
    assert "TopicAuthorizationException" in refused.stderr + refused.stdout, refused
    grant = ("--add", "--allow-principal", "User:ann", "--operation", "Write", "--operation", "Describe")
    assert "Adding ACLs" in tool(cluster, "kafka-acls", *grant, "--topic", "orders")

    def written() -> bool | Pending:
        done = script("kafka-console-producer", *write, "--topic", "orders", stdin="two\n")
        text = done.stderr + done.stdout
        return "AuthorizationException" not in text or Pending(text)

    wait_for("the right to write", written, STUCK)
    assert "orders:0:1" in tool(cluster, "kafka-get-offsets", "--topic", "orders")
    assert "User:ann" in tool(cluster, "kafka-acls", "--list", "--topic", "orders")


def test_a_degrade_needs_the_right_to_alter_settings_and_keeps_who_had_it(cluster: KafkaCluster) -> None:
    topic(cluster, "lowered")
    at = ("--alter", "--entity-type", "topics", "--entity-name", "lowered", "--add-config")
    tool(cluster, "kafka-configs", *at, "min.insync.racks=2")
    request = (*as_user(cluster, "ann"), *at, "min.insync.racks.degrade=[to=1,for=1h,reason=a test, of rights]")
    refused = script("kafka-configs", *request)
    assert refused.returncode == 1 and "AuthorizationException" in refused.stderr + refused.stdout, refused
    grant = ("--add", "--allow-principal", "User:ann", "--operation", "AlterConfigs", "--operation", "DescribeConfigs")
    tool(cluster, "kafka-acls", *grant, "--topic", "lowered")

    def degraded() -> bool | Pending:
        done = script("kafka-configs", *request)
        return done.returncode == 0 or Pending(done.stderr + done.stdout)

    wait_for("the right to alter settings", degraded, STUCK)

    def kept() -> dict[str, Any] | Pending:
        found = json.loads(tool(cluster, "kafka-racks", "status", "--topic", "lowered", "-o", "json"))["topics"][0]
        return found["degrade"] or Pending(str(found))

    found = wait_for("the degrade", kept, STUCK)
    assert (found["to"], found["from"], found["by"], found["reason"]) == (1, 2, "User:ann", "a test, of rights"), found


def test_a_delegation_token_is_made_and_described(cluster: KafkaCluster) -> None:
    at = as_user(cluster, "bob")
    made = script("kafka-delegation-tokens", *at, "--create", "--max-life-time-period", "-1")
    assert made.returncode == 0 and "User:bob" in made.stdout, made
    listed = script("kafka-delegation-tokens", *at, "--describe", "--owner-principal", "User:bob")
    assert listed.returncode == 0 and "User:bob" in listed.stdout, listed


def test_groups_are_listed_and_their_offsets_reset(cluster: KafkaCluster) -> None:
    topic(cluster, "read", "one", "two", "three")
    read = ("--topic", "read", "--from-beginning", "--max-messages", "3", "--timeout-ms", "60000", "--group", "readers")
    assert tool(cluster, "kafka-console-consumer", *read) == "one\ntwo\nthree\n"
    assert re.search(r"^readers\s+\w+", tool(cluster, "kafka-groups", "--list"), re.MULTILINE)
    back = ("--group", "readers", "--topic", "read", "--reset-offsets", "--to-offset", "1", "--execute")
    assert re.search(r"readers\s+read\s+0\s+1", tool(cluster, "kafka-consumer-groups", *back))
    assert "readers" not in tool(cluster, "kafka-streams-groups", "--list")
    reset = ("--application-id", "readers", "--input-topics", "read", "--dry-run")
    assert "Following input topics offsets will be reset" in tool(cluster, "kafka-streams-application-reset", *reset)


@pytest.mark.variant
def test_a_share_group_reads_records(cluster: KafkaCluster) -> None:
    topic(cluster, "shared")
    earliest = ("--alter", "--entity-type", "groups", "--entity-name", "sharers", "--add-config")
    tool(cluster, "kafka-configs", *earliest, "share.auto.offset.reset=earliest")
    tool(cluster, "kafka-console-producer", "--topic", "shared", stdin="one\ntwo\n")
    read = ("--topic", "shared", "--group", "sharers", "--max-messages", "2", "--timeout-ms", "60000")
    assert sorted(tool(cluster, "kafka-console-share-consumer", *read).split()) == ["one", "two"]
    assert "sharers" in tool(cluster, "kafka-share-groups", "--list")
    assert re.search(r"sharers\s+shared\s+0", tool(cluster, "kafka-share-groups", "--describe", "--group", "sharers"))


def test_records_are_deleted_and_disks_described(cluster: KafkaCluster, tmp_path: Path) -> None:
    topic(cluster, "short", "one", "two", "three")
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"version": 1, "partitions": [{"topic": "short", "partition": 0, "offset": 2}]}))
    assert "low_watermark: 2" in tool(cluster, "kafka-delete-records", "--offset-json-file", str(file))
    assert "short:0:2" in tool(cluster, "kafka-get-offsets", "--topic", "short", "--time", "earliest")
    described = tool(cluster, "kafka-log-dirs", "--describe", "--topic-list", "short")
    found = json.loads(described[described.index("{") :])
    assert {p["partition"] for b in found["brokers"] for d in b["logDirs"] for p in d["partitions"]} == {"short-0"}


def test_an_open_transaction_is_described_and_aborted(cluster: KafkaCluster) -> None:
    topic(cluster, "moved")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "mover"})
    producer.init_transactions(STUCK)
    producer.begin_transaction()
    producer.produce("moved", b"one")
    producer.flush(STUCK)
    assert re.search(r"mover\s+\d+\s+-?\d+\s+Ongoing", tool(cluster, "kafka-transactions", "list"))
    assert "moved-0" in tool(cluster, "kafka-transactions", "describe", "--transactional-id", "mover")
    there = ("--topic", "moved", "--partition", "0")
    begun = tool(cluster, "kafka-transactions", "describe-producers", *there).splitlines()[1].split()
    assert begun[-1] == "0"
    tool(cluster, "kafka-transactions", "abort", *there, "--start-offset", "0")
    ended = tool(cluster, "kafka-transactions", "describe-producers", *there).splitlines()[1].split()
    assert ended[-1] == "None"


def test_metrics_of_clients_are_subscribed_and_a_cluster_identified(cluster: KafkaCluster) -> None:
    wanted = ("--alter", "--name", "basic", "--metrics", "org.apache.kafka.producer.", "--interval", "30000")
    tool(cluster, "kafka-client-metrics", *wanted)
    assert "basic" in tool(cluster, "kafka-client-metrics", "--list")
    at = ("--bootstrap-server", cluster.bootstrap)
    done = script("kafka-cluster", "cluster-id", *at)
    assert done.returncode == 0 and "Cluster ID: " in done.stdout, done


def consumed(printed: str) -> int:
    """Records that a performance tool has read, by its header."""
    header, row = (line.split(", ") for line in printed.strip().splitlines()[-2:])
    return int(dict(zip(header, row, strict=True))["data.consumed.in.nMsg"])


@pytest.mark.variant
def test_performance_tools_count_what_they_read(cluster: KafkaCluster) -> None:
    topic(cluster, "load")
    write = ("--topic", "load", "--num-records", "20", "--record-size", "10", "--throughput", "-1")
    tool(cluster, "kafka-producer-perf-test", *write)
    read = ("--topic", "load", "--num-records", "20", "--timeout", "60000")
    assert consumed(tool(cluster, "kafka-consumer-perf-test", *read, "--group", "perf")) == 20
    earliest = ("--alter", "--entity-type", "groups", "--entity-name", "perf-share", "--add-config")
    tool(cluster, "kafka-configs", *earliest, "share.auto.offset.reset=earliest")
    assert consumed(tool(cluster, "kafka-share-consumer-perf-test", *read, "--group", "perf-share")) >= 20
    done = script("kafka-e2e-latency", cluster.bootstrap, "load", "3", "all", "10")
    assert done.returncode == 0 and "Avg latency" in done.stdout, done


@pytest.mark.variant
def test_verifiable_clients_report_each_record(cluster: KafkaCluster) -> None:
    topic(cluster, "verified")
    written = tool(cluster, "kafka-verifiable-producer", "--topic", "verified", "--max-messages", "3")
    assert [json.loads(line)["name"] for line in written.splitlines()].count("producer_send_success") == 3
    read = ("--topic", "verified", "--group-id", "verifiers", "--max-messages", "3", "--reset-policy", "earliest")
    lines = [json.loads(line) for line in tool(cluster, "kafka-verifiable-consumer", *read).splitlines()]
    assert sum(line["count"] for line in lines if line["name"] == "records_consumed") == 3
    share = ["--topic", "verified", "--group-id", "share-verifiers", "--max-messages", "3"]
    share += ("--offset-reset-strategy", "earliest")
    lines = [json.loads(line) for line in tool(cluster, "kafka-verifiable-share-consumer", *share).splitlines()]
    assert sum(line["count"] for line in lines if line["name"] == "records_consumed") == 3


def test_replicas_are_compared(cluster: KafkaCluster) -> None:
    topic(cluster, "same", "one")
    command = [find("rackspan").script("kafka-replica-verification.sh"), "--topics-include", "same"]
    command += ["--broker-list", cluster.bootstrap, "--report-interval-ms", "100"]
    environment = os.environ | tool_environment("rackspan")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as comparing:
        assert comparing.stdout is not None
        try:
            line = next(line for line in comparing.stdout if "max lag is" in line)
        finally:
            comparing.send_signal(signal.SIGTERM)
    assert "max lag is 0 for partition same-0" in line


def test_the_metadata_of_a_controller_is_read_in_the_shell(cluster: KafkaCluster, tmp_path: Path) -> None:
    topic(cluster, "noted")
    copies = iter(range(STUCK))

    def listed() -> bool | Pending:
        copy = tmp_path / f"{next(copies)}" / "__cluster_metadata-0"  # the shell locks the folder of a log
        shutil.copytree(cluster.folder / "ctrl-1" / "data" / copy.name, copy)
        log = sorted(copy.glob("*.log"))[0]
        done = script("kafka-metadata-shell", "--snapshot", str(log), "ls", "/image/topics/byName")
        assert done.returncode == 0, done
        return "noted" in done.stdout.split() or Pending(f"{done.stdout}{done.stderr}")

    # The shell answers once it has applied any record, as upstream has it (MetadataShell.waitUntilCaughtUp).
    wait_for("the topic in the shell", listed, STUCK)


@pytest.mark.variant
def test_connect_copies_a_file_to_a_topic_and_back(cluster: KafkaCluster, tmp_path: Path) -> None:
    home = find("rackspan").home
    plugin = next((home / "libs").glob("connect-file-*.jar"))
    listed = script("connect-plugin-path", "list", "--plugin-location", str(plugin))
    assert "org.apache.kafka.connect.file.FileStreamSourceConnector" in listed.stdout, listed
    topic(cluster, "connect-test")
    source, sink = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("one\ntwo\n")
    files = {
        "worker": f"bootstrap.servers={cluster.bootstrap}\nplugin.path={plugin}\nlisteners=HTTP://127.0.0.1:0\n"
        "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
        "value.converter=org.apache.kafka.connect.storage.StringConverter\n"
        f"offset.storage.file.filename={tmp_path}/offsets\noffset.flush.interval.ms=500\n",
        "source": (home / "config" / "connect-file-source.properties").read_text() + f"file={source}\n",
        "sink": (home / "config" / "connect-file-sink.properties").read_text() + f"file={sink}\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.properties").write_text(text)
    command = [find("rackspan").script("connect-standalone.sh")]
    command += [str(tmp_path / f"{name}.properties") for name in files]
    environment = os.environ | tool_environment("rackspan", str(tmp_path / "logs"))
    with (tmp_path / "out.log").open("w") as out, subprocess.Popen(command, stdout=out, env=environment) as run:
        try:
            wait_for("the copied lines", lambda: sink.exists() and sink.read_text() == "one\ntwo\n", STUCK)
        finally:
            run.terminate()
    assert run.returncode == 128 + signal.SIGTERM, (tmp_path / "out.log").read_text()
    assert "Kafka Connect stopped" in (tmp_path / "logs" / "connect.log").read_text()


def test_trogdors_agent_answers(tmp_path: Path) -> None:
    """In a network of its own: an agent listens on all addresses."""
    home, log = find("rackspan").home, tmp_path / "agent.log"
    agent = f"{home}/bin/trogdor.sh agent --agent.config {home}/config/trogdor.conf --node-name node0"
    ask = f"{home}/bin/trogdor.sh agent-client uptime --target 127.0.0.1:8888"
    wait = f"while [ $SECONDS -lt 120 ]; do {ask} >{tmp_path}/asked 2>&1 && exit 0; sleep 1; done; exit 1"
    # Machines may lack the command `ip`
    link = "net.link('set', index=net.link_lookup(ifname='lo')[0], state='up')"
    up = f'{sys.executable} -c "from pyroute2 import IPRoute; net = IPRoute(); {link}"'
    # Ends with all that it has started, the agent too
    inside = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "bash", "-c"]
    done = subprocess.run(
        [*inside, f"{up} && {{ {agent} >{log} 2>&1 & }} && {wait}"],
        capture_output=True,
        text=True,
        timeout=STUCK,
        env=os.environ | tool_environment("rackspan", str(tmp_path)),
    )
    answer = (tmp_path / "asked").read_text()
    assert done.returncode == 0, (done.stdout + done.stderr, f"agent: {log.read_text()[-3000:]}", f"client: {answer}")
    assert "Agent is running at" in answer
