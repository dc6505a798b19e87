"""Faults on a real cluster that all tests here share: each takes effect, and is healed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from harness.admin.reassignment import reassign
from harness.admin.topics import Topics
from harness.cli import fault
from harness.cluster.cluster_view import Partition
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import Exit, RackspanError
from harness.common.wait import Pending, wait_for
from harness.faults import settings
from harness.faults.disk import disk_full, fill
from harness.faults.healing import active, heal_all
from harness.faults.partitions import led_by, moved_leaders, moved_replicas, replicas_moved, without
from harness.faults.process import nodes_down
from harness.faults.rolling import rolling_restart
from harness.hosts.host import ProcessState
from harness.spec.cluster_spec import parse
from harness.spec.topology import plan
from harness.tests.commands import rackspan
from harness.tests.limits import STUCK
from harness.tests.terminal import Terminal
from harness.tests.test_kafka_cluster import Record, home_of

pytestmark = pytest.mark.cluster

TOPIC = "faults"


@pytest.fixture(scope="module")
def made(shared: KafkaCluster) -> KafkaCluster:
    """The module's cluster with a topic whose partitions are led by each broker in turn."""
    Topics(shared.bootstrap).create(TOPIC, ASSIGNED, min_insync_replicas=2)
    Topics(shared.bootstrap).create("two", [[1, 2]])
    return shared


@pytest.fixture
def cluster(made: KafkaCluster) -> Iterator[KafkaCluster]:
    """The same, healthy before each test."""
    made.wait_healthy(60)
    yield made


def partitions(cluster: KafkaCluster) -> list[Partition]:
    return sorted((p for p in cluster.view().partitions if p.topic == TOPIC), key=lambda p: p.partition)


def leader(cluster: KafkaCluster, partition: int = 0) -> int:
    return partitions(cluster)[partition].leader


def replicas(cluster: KafkaCluster) -> list[tuple[int, ...]]:
    return [p.replicas for p in partitions(cluster)]


ASSIGNED = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]


def test_roles_are_resolved_when_the_fault_begins(cluster: KafkaCluster) -> None:
    record = Record()
    before = leader(cluster)
    with nodes_down(cluster, f"leader:{TOPIC}-0", how="pause", events=record) as names:
        ids = [cluster.node(n).node.id for n in names]
        assert ids in ([before], [leader(cluster)]), "on a busy machine another one may lead by now"
        assert cluster.node_states(names) == {names[0]: "paused"}
    data = {"nodes": names, "ids": ids, "requested": [f"leader:{TOPIC}-0"], "how": "pause"}
    assert [(e[1], e[2], e[3]) for e in record.events] == [
        ("nodes_down", "begin", data),
        ("nodes_down", "end", data),
        ("nodes_down healed", "point", data),
    ]
    for _ in range(3):  # the same holds for controllers
        active = next(n.name for n in cluster.plan.controllers if n.id == cluster.view().leader)
        killed = rackspan("kill", "controller", home=home_of(cluster))
        assert killed.returncode == 0, killed.stderr
        ((name, *states),) = [line.split() for line in killed.stdout.splitlines()[1:]]
        assert states == ["running", "crashed"]
        cluster.start(name)
        if name == active:
            break
    assert name == active


def test_replicas_leave_a_rack_and_come_back(cluster: KafkaCluster) -> None:
    record = Record()
    with replicas_moved(cluster, TOPIC, "b", events=record):
        assert replicas(cluster) == [(1, 3), (3, 1), (3, 1)]
        assert [a.what for a in active(cluster)] == [f"replicas of {TOPIC} out of rack b"]
    assert replicas(cluster) == ASSIGNED and [p.leader for p in partitions(cluster)] == [1, 2, 3]
    assert active(cluster) == []
    data = {"topic": TOPIC, "to": {"0": [1, 3], "1": [3, 1], "2": [3, 1]}}
    assert [(e[1], e[2], e[3]) for e in record.events][:2] == [
        (f"replicas of {TOPIC} out of rack b", "begin", data),
        (f"replicas of {TOPIC} out of rack b", "end", data),
    ]


def test_faults_of_the_command_are_listed_and_healed(cluster: KafkaCluster) -> None:
    """Each verb is a process of its own: it finds the state to restore in the folder of the cluster."""
    home = home_of(cluster)
    moved = rackspan("fault", "move-leaders", TOPIC, "b1", home=home)
    assert moved.returncode == 0, moved.stderr
    assert [p.leader for p in partitions(cluster)] == [2, 2, 2]
    fault.change_setting("min.insync.replicas=3", TOPIC, "shared")  # in this process: a start takes longest
    fault.change_setting("message.max.bytes=1000000", "", "shared")
    assert Topics(cluster.bootstrap).own(TOPIC, "min.insync.replicas") == "3"
    ended = rackspan("fault", "disk-full", "c1", home=home)
    assert ended.returncode == 0 and ended.stdout.splitlines()[1].split() == ["c1", "failed"], ended.stderr
    listed = json.loads(rackspan("fault", "list", "-o", "json", home=home).stdout)
    assert [a["what"] for a in listed["active"]] == [
        "c1 is failed",
        f"leaders of {TOPIC} moved",
        f"min.insync.replicas of {TOPIC} changed",
        "message.max.bytes of the cluster changed",
    ]
    assert listed["links"] == [] and listed["active"][1]["since_ns"] > time.time_ns() - 600e9
    healed = rackspan("fault", "heal", home=home)
    assert healed.returncode == 0 and "healed: c1 is failed" in healed.stderr, healed.stderr
    assert healed.stdout == "no active faults\n"
    assert [p.leader for p in partitions(cluster)] == [1, 2, 3] and replicas(cluster) == ASSIGNED
    assert Topics(cluster.bootstrap).own(TOPIC, "min.insync.replicas") == "2"
    assert settings.changed_setting(cluster, "", "message.max.bytes", 1).look()["value"] is None
    assert cluster.node_states(["c1"]) == {"c1": "running"}


def test_a_full_disk_ends_a_broker_and_another_one_leads(cluster: KafkaCluster) -> None:
    record = Record()
    with disk_full(cluster, f"leader:{TOPIC}-1", events=record) as names:
        (name,) = names
        assert cluster.node_states(names) == {name: "failed"}
        others = {1, 2, 3} - {cluster.node(name).node.id}
        wait_for(
            "another leader", lambda: leader(cluster, 1) in others or Pending(f"leader {leader(cluster, 1)}"), STUCK
        )
        with pytest.raises(RackspanError) as e:
            fill(cluster.select(names))
        assert str(e.value) == (
            f"cannot fill the disk of {name}\n  observed: it is not running\n"
            f"  do:       start it with `rackspan start {name}`"
        )
    assert cluster.node(name).look()[1] is ProcessState.RUNNING
    cluster.wait_in_sync()
    assert [(e[1], e[2]) for e in record.events] == [
        ("disk_full", "begin"),
        ("disk_full ended", "point"),
        ("disk_full", "end"),
        ("disk_full healed", "point"),
    ]


def test_a_rolling_restart_restarts_one_node_at_a_time(cluster: KafkaCluster) -> None:
    before = {n.name: n.look()[0] for n in cluster.select("all")}
    record = Record()
    assert rolling_restart(cluster, ["a1", "c1"], how="kill", events=record) == ["a1", "c1"]
    assert [p.isr for p in partitions(cluster) if len(p.isr) < 3] == [], "the last one is waited for too"
    after = {n.name: n.look()[0] for n in cluster.select("all")}
    assert {n for n in before if before[n] != after[n]} == {"a1", "c1"}
    assert [(e[2], e[3]["nodes"]) for e in record.events if e[2] != "point"] == [
        ("begin", ["a1"]),
        ("end", ["a1"]),
        ("begin", ["c1"]),
        ("end", ["c1"]),
    ]
    rolled = rackspan("fault", "roll", "b1", home=home_of(cluster))
    assert (rolled.returncode, rolled.stdout) == (0, "b1\n"), rolled.stderr
    assert cluster.node("b1").look()[0] != before["b1"]


def test_watching_on_a_terminal_shows_changes_until_q(cluster: KafkaCluster) -> None:
    """The screen shows a rack that goes down and comes up; q and Ctrl-C both restore the terminal, Ctrl-C also where
    it was ignored at first.
    """
    with Terminal("status", "--watch", "--every", "0.2", home=home_of(cluster)) as terminal:
        terminal.wait_for(r"\bb +up +2 of 2\b", r"\bfaults +3 +- +3 +- +3\b", "press q to quit")
        cluster.kill("rack:b")
        terminal.wait_for(r"\bb +down +0 of 2\b", "ctrl-2 is crashed", r"\bfaults +3 +- +2 +- +3\b")
        cluster.start("rack:b")
        terminal.wait_for(r"\bb +up +2 of 2\b", r"\bfaults +3 +- +3 +- +3\b")
        assert "crashed" not in terminal.shown
        assert terminal.end("q") == (Exit.OK if "is healthy" in terminal.left else Exit.FAILED)
    with Terminal("status", "--watch", home=home_of(cluster), background=True) as terminal:
        terminal.wait_for("press q to quit")
        assert terminal.end("\x03") == (Exit.OK if "is healthy" in terminal.left else Exit.FAILED)


def test_impossible_faults_are_refused_with_reasons(cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    home = home_of(cluster)
    assert rackspan("fault", "set", "x", home=home).stderr == (
        "error: invalid setting x\n  observed: it is not KEY=VALUE\n"
        "  do:       write it as in rackspan fault set min.insync.replicas=3\n"
    )
    with pytest.raises(RackspanError) as e:
        moved_leaders(cluster, "absent")
    assert str(e.value) == f"topic 'absent' not found\n  observed: topics: {TOPIC}, two\n  do:       name one of them"
    with pytest.raises(RackspanError) as e:
        moved_leaders(cluster, "two", "c1")
    assert str(e.value) == "c1 cannot lead two-0\n  observed: its replicas are on a1, b1\n  do:       name one of these"
    monkeypatch.setattr("harness.faults.partitions.without", lambda *_: [])
    with pytest.raises(RackspanError) as e:
        moved_replicas(cluster, "two", "a")
    assert str(e.value) == (
        "cannot move two out of rack a\n  observed: no broker is anywhere else\n  do:       name another rack"
    )
    with pytest.raises(RackspanError) as e:
        settings.changed_setting(cluster, TOPIC, "no.such", 1).begin(cluster)
    assert str(e.value).startswith("topics have no setting 'no.such'\n  observed: the cluster does not list it\n")
    with pytest.raises(RackspanError) as e:
        settings.changed_setting(cluster, TOPIC, "min.insync.replicas", "none").begin(cluster)
    assert e.value.what == f"cannot change min.insync.replicas of {TOPIC} to none"
    assert "min.insync.replicas" in e.value.observed
    assert e.value.do == "give a value that the cluster takes"
    with pytest.raises(RackspanError) as e:
        settings.put(cluster, "", "message.max.bytes", "x")
    assert e.value.what == "cannot change message.max.bytes of the cluster to x" and "Not a number" in e.value.observed
    assert heal_all(cluster) == [f"min.insync.replicas of {TOPIC} changed"], "a change that failed half-way is undone"
    with pytest.raises(RackspanError) as e:
        reassign(cluster, TOPIC, {0: [1, 99]})
    assert e.value.what == f"cannot move replicas of {TOPIC}-0 to brokers 1, 99"
    assert e.value.observed == "InvalidReplicationAssignmentError"


def test_replacement_replicas_avoid_the_rack() -> None:
    two = plan(parse({"racks": "a:2,b:2,c:1"})).brokers
    assert led_by([1, 2, 3], 3) == [3, 1, 2]
    assert without([1, 3, 5], "b", two) == [1, 2, 5]
    assert without([1, 3, 4], "b", two) == [1, 2, 5]
    assert without([1, 2, 3, 5], "a", two) == [4, 3, 5]
    assert without([3, 4], "b", two[2:4]) == []
