"""A real cluster: nodes and racks go down and come up again, as processes and the protocol report it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.admin.topics import Topics
from harness.cluster.cluster_view import answers
from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.lifecycle import AlreadyUp
from harness.cluster.node import KafkaNode
from harness.common.errors import Exit, RackspanError
from harness.common.paths import block_owner
from harness.common.wait import Pending, wait_for
from harness.faults.rack import rack_down
from harness.hosts.host import ProcessState
from harness.tests.commands import rackspan
from harness.tests.conftest import small
from harness.tests.limits import STUCK

pytestmark = pytest.mark.cluster


@pytest.fixture
def cluster(shared: KafkaCluster) -> Iterator[KafkaCluster]:
    """The module's cluster, healthy before and every node started after."""
    shared.wait_healthy(30)
    yield shared
    shared.resume([n.name for n in shared.select("all") if n.look()[1] is ProcessState.PAUSED])
    shared.start("all")


def home_of(cluster: KafkaCluster) -> Path:
    return cluster.folder.parent.parent


def create_topic(cluster: KafkaCluster, name: str) -> None:
    Topics(cluster.bootstrap).create(name, [(1, 2, 3), (2, 3, 1), (3, 1, 2)])


def test_every_node_is_ready_and_in_its_rack(cluster: KafkaCluster) -> None:
    view = cluster.view()
    assert view.racks == {1: "a", 2: "b", 3: "c"}
    assert view.leader in (101, 102, 103)
    assert {v.id for v in view.voters} == {101, 102, 103}
    status = cluster.status()
    assert status.health == "healthy" and {n.state for n in status.nodes} == {"running"}
    assert all(n.pid for n in status.nodes)


def test_a_running_node_keeps_its_distribution(cluster: KafkaCluster) -> None:
    ran = rackspan("start", "a1", "--distribution", "rackspan", home=home_of(cluster))
    assert ran.returncode == Exit.USAGE
    assert ran.stderr.startswith("error: cannot change the distribution of a1\n  observed: the process is there\n")
    assert ran.stderr.endswith("  do:       stop it first: `rackspan stop a1`\n")
    assert not KafkaCluster.open(cluster.name).state.spec.nodes


def test_up_of_an_existing_cluster_shows_its_status(cluster: KafkaCluster) -> None:
    before = [n.look()[0] for n in cluster.select("all")]
    with pytest.raises(AlreadyUp) as e:
        KafkaCluster.up(cluster.state.spec)
    assert str(e.value) == (
        "cluster 'shared' exists already\n"
        "  observed: it was brought up before\n"
        "  do:       see `rackspan status shared`, or remove it with `rackspan down shared`"
    )
    shown = rackspan("up", "--name", "shared", home=home_of(cluster))
    assert shown.returncode == 0
    assert "cluster 'shared' exists already:" in shown.stderr and "is healthy" in shown.stdout
    assert [n.look()[0] for n in cluster.select("all")] == before


def test_replicas_of_a_killed_rack_leave_the_isr_and_rejoin_it(cluster: KafkaCluster) -> None:
    create_topic(cluster, "killed")
    Topics(cluster.bootstrap).set("killed", "min.insync.replicas", 3)
    cluster.kill("rack:a")
    assert [n.look()[1] for n in cluster.select("rack:a")] == [ProcessState.GONE] * 2

    def shrunk() -> bool | Pending:
        isr = {p.isr for p in cluster.view().partitions if p.topic == "killed"}
        return all(1 not in i for i in isr) or Pending(f"ISR {isr}")

    wait_for("the ISR to leave broker 1 out", shrunk, STUCK)
    status = cluster.status()
    assert status.health == "degraded"
    assert set(status.reasons) == {
        "a1 is crashed",
        "ctrl-1 is crashed",
        "writes to 1 topic are refused: too few replicas in sync: killed",
        "3 partitions under-replicated",
    }
    assert status.as_dict()["refused"] == [{"topic": "killed", "partitions": 3, "too_few": "replicas"}]
    cluster.start("rack:a")
    cluster.wait_in_sync(30)
    assert cluster.status().health == "healthy"


def test_a_paused_broker_is_fenced_and_unfenced_when_resumed(cluster: KafkaCluster) -> None:
    cluster.pause("b1")
    assert cluster.node_states(["b1"]) == {"b1": "paused"}
    wait_for("broker 2 to be fenced", lambda: 2 not in cluster.view().racks, STUCK)
    with pytest.raises(RackspanError, match="not ready: b1"):
        cluster.wait_ready("b1", seconds=0.2)
    with pytest.raises(RackspanError) as e:
        cluster.start("b1")
    assert str(e.value).endswith("observed: it is paused\n  do:       let it continue with `rackspan resume b1`")
    cluster.resume("b1")
    cluster.wait_ready("b1", seconds=20)
    assert cluster.node_states(["b1"]) == {"b1": "running"}


def test_a_stopped_broker_has_shut_down_cleanly(cluster: KafkaCluster) -> None:
    cluster.stop("c1")
    node = cluster.node("c1")
    assert Path(node.data_dir, ".kafka_cleanshutdown").exists()
    assert cluster.node_states(["c1"]) == {"c1": "stopped"}
    with pytest.raises(RackspanError) as e:
        cluster.pause("c1")
    assert e.value.brief == "cannot pause c1: it is not running"
    cluster.start("c1")
    assert cluster.view().racks[3] == "c"


class Record:
    """Events as they come."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str, dict[str, Any]]] = []

    def event(self, kind: str, name: str, state: str = "point", data: Mapping[str, Any] | None = None) -> None:
        self.events.append((kind, name, state, dict(data or {})))


def test_rack_down_heals_on_entry_and_on_exit_and_is_recorded(cluster: KafkaCluster) -> None:
    cluster.kill("b1")  # as an earlier run may have left it
    record = Record()
    with pytest.raises(RuntimeError, match="the test fails"), rack_down(cluster, "a", events=record):
        assert cluster.node_states(["a1", "ctrl-1", "b1"]) == dict.fromkeys(["a1", "ctrl-1", "b1"], "crashed")
        raise RuntimeError("the test fails")
    assert cluster.node_states(["a1", "ctrl-1"]) == {"a1": "running", "ctrl-1": "running"}
    data = {"nodes": ["a1", "ctrl-1"], "ids": [1, 101], "how": "kill"}
    assert record.events == [
        ("fault", "rack_down a", "begin", data),
        ("fault", "rack_down a", "end", data),
        ("fault", "rack_down a healed", "point", data),
    ]
    with rack_down(cluster, "b", how="pause"):
        pass  # healing b1 on entry started it
    assert cluster.node_states(["b1", "ctrl-2"]) == {"b1": "running", "ctrl-2": "running"}


def test_verbs_of_the_command_on_a_running_cluster(cluster: KafkaCluster) -> None:
    home = home_of(cluster)
    listed = rackspan("ls", "-o", "json", home=home)
    assert [(c["name"], c["health"], c["running"]) for c in json.loads(listed.stdout)] == [("shared", "healthy", 6)]
    ran = rackspan("exec", "b1", "--", "sh", "-c", "echo $NODE $RACK $ADDRESS; pwd; exit 7", home=home)
    assert ran.returncode == 7
    node = cluster.node("b1")
    assert ran.stdout.splitlines() == [f"b1 b {node.node.endpoint}", node.host.root]
    env = rackspan("env", home=home).stdout
    assert f"export BOOTSTRAP={cluster.bootstrap}\n" in env
    logs = rackspan("logs", "rack:a", "--grep", "Kafka Server started", home=home).stdout.splitlines()
    assert {line.split()[0] for line in logs} == {"a1", "ctrl-1"}
    assert rackspan("logs", "a1", "--since", "1h", home=home).stdout != ""
    moved = rackspan("pause", "a1", home=home)
    assert moved.returncode == 0 and moved.stdout.splitlines()[1].split() == ["a1", "running", "paused"]
    moved = rackspan("resume", "a1", home=home)
    assert moved.stdout.splitlines()[1].split() == ["a1", "paused", "running"]
    wrong = rackspan("stop", "rack:z", home=home)
    assert wrong.returncode == 2
    assert wrong.stderr == (
        "error: rack 'z' not found\n  observed: racks: a, b, c\n  do:       name one of them, as in rack:a\n"
    )


def test_two_clusters_run_at_a_time(cluster: KafkaCluster) -> None:
    home = home_of(cluster)
    with KafkaCluster.running(small("beside", metrics=False)) as other:
        assert not {n.address for n in other.plan.nodes} & {n.address for n in cluster.plan.nodes}
        assert other.view().racks == {1: "a"}
        unclear = rackspan("status", home=home)
        assert unclear.returncode == 2 and "observed: clusters: beside, shared" in unclear.stderr
        stopped = rackspan("kill", "a1", "--cluster", "beside", home=home)
        assert stopped.returncode == 0
        assert other.node_states(["a1"]) == {"a1": "crashed"}
        with (
            pytest.raises(RackspanError, match="cluster 'beside' belongs to a run that continues") as e,
            KafkaCluster.running(small("beside", metrics=False)),
        ):
            pass
        assert e.value.observed == f"process {os.getpid()} is at work on it"
        assert other.node_states(["a1"]) == {"a1": "crashed"}, "what a run uses was taken away from it"
        assert cluster.status().health == "healthy"
    assert_removed(other)
    assert cluster.status().health == "healthy"


def test_a_node_that_fails_is_kept_with_its_error(home: Path) -> None:
    spec = small("broken", nodes={"a1": {"settings": {"num.io.threads": "many"}}})
    with pytest.raises(RackspanError) as e:
        KafkaCluster.up(spec, seconds=30)
    assert e.value.what == "a1 (rack a) ended while it was starting"
    assert "Invalid value many for configuration num.io.threads" in e.value.observed
    assert e.value.do == "read `rackspan logs a1`; the node is kept as it is"
    shown = rackspan("status", "-o", "json", home=home)
    assert shown.returncode == 1
    status = json.loads(shown.stdout)
    assert status["phase"] == "failed"
    a1, controller = status["nodes"]
    assert a1["state"] == "failed" and "Invalid value many" in a1["error"]
    assert controller["state"] == "running"
    assert "Invalid value many" in rackspan("logs", "a1", home=home).stdout
    again = rackspan("up", "--name", "broken", home=home)
    assert again.returncode == 1 and "exists already" in again.stderr and "a1 is failed" in again.stdout
    cluster = KafkaCluster.open("broken")
    down = rackspan("down", home=home)
    assert (down.returncode, down.stderr) == (0, "cluster 'broken' removed\n")
    assert_removed(cluster)


def test_the_next_up_uses_kept_data(home: Path) -> None:
    spec = small("kept", metrics=False)
    cluster = KafkaCluster.up(spec)
    Topics(cluster.bootstrap).create("t", [[1], [1]])
    topic = Topics(cluster.bootstrap).id("t")
    cluster.down(keep_data=True)
    assert set(cluster.node_states(["a1", "ctrl-1"]).values()) == {"stopped"}
    with pytest.raises(RackspanError, match="was kept with another spec"):
        KafkaCluster.up(small("kept", racks="a:2", metrics=False))
    again = KafkaCluster.up(spec)
    assert {p.topic for p in again.view().partitions} == {"t"}
    assert Topics(again.bootstrap).id("t") == topic and topic.int > 0
    again.down()
    assert_removed(again)


def test_full_jvms_without_metrics_start_too(home: Path) -> None:
    with KafkaCluster.running(small("full", jvm="full", metrics=False)) as cluster:
        assert not answers(cluster.node("a1").node.address, 9404)
        process = cluster.node("a1").look()[0]
        assert process is not None
        assert "-XX:+UseG1GC" in Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")


def test_default_jvms_use_the_class_archive_and_serve_metrics(cluster: KafkaCluster) -> None:
    node: KafkaNode = cluster.node("a1")
    process = node.look()[0]
    assert process is not None
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    assert f"{os.sep}build{os.sep}cds{os.sep}" in maps
    assert answers(node.node.address, node.node.metrics_port)


def assert_removed(cluster: KafkaCluster) -> None:
    """No process, no folder, no listening port."""
    assert cluster.backend.leftovers(str(cluster.folder)) == []
    assert not cluster.folder.exists()

    def free() -> bool | Pending:
        """Without processes of its own its addresses are free, or a cluster of somebody else has taken them since."""
        listening = [n for n in cluster.plan.listeners if answers(*n)]
        return not listening or block_owner(cluster.state.block) is not None or Pending(f"answered by {listening}")

    wait_for(f"the addresses of {cluster.name} to be free", free, STUCK)
