"""A real cluster on the backend netns: racks are cut off and healed, as Kafka and the command report it."""

from __future__ import annotations

import itertools
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL

import pytest

from harness.cli import fault
from harness.cluster.cluster_view import answers
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import RackspanError
from harness.common.wait import Pending, wait_for
from harness.faults.network import bandwidth_limited, cut, cut_by_host, delay, disconnected, slowed, staggered_cut
from harness.hosts.host import ProcessState
from harness.network.link_files import DAEMON
from harness.network.netns_support import attempt
from harness.tests.commands import rackspan
from harness.tests.conftest import small
from harness.tests.limits import STUCK
from harness.tests.test_kafka_cluster import Record, create_topic, home_of

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    if skip_reason := attempt().skip_reason:
        pytest.skip(f"this machine cannot have networks: {skip_reason}")
    before = Path("/proc/thread-self/ns/net").stat().st_ino
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RACKSPAN_HOME", str(tmp_path_factory.mktemp("home")))
        links = {"default": "4ms", "a-c": "20ms"}
        spec = small("apart", racks="a:1,b:1,c:1", backend="netns", links=links, metrics=False)
        with KafkaCluster.running(spec) as made:
            yield made
    if os.geteuid() == 0:
        assert Path("/proc/thread-self/ns/net").stat().st_ino == before  # the process is back where it was


def isr(cluster: KafkaCluster, topic: str) -> set[tuple[int, ...]]:
    return {tuple(sorted(p.isr)) for p in cluster.view().partitions if p.topic == topic}


def wait_isr(cluster: KafkaCluster, topic: str, wanted: tuple[int, ...]) -> None:
    def probe() -> bool | Pending:
        now = isr(cluster, topic)
        return now == {wanted} or Pending(f"ISR {now}")

    wait_for(f"the ISR of {topic} to be {wanted}", probe, STUCK)


def test_a_cut_rack_leaves_the_isr_though_its_broker_runs(cluster: KafkaCluster) -> None:
    """The controller is in rack a; rack c is cut off, its broker runs on and is reached by the driver."""
    create_topic(cluster, "apart")
    wait_isr(cluster, "apart", (1, 2, 3))
    record = Record()
    with cut(cluster, "c", events=record):
        wait_isr(cluster, "apart", (1, 2))
        assert cluster.node("c1").look()[1] is ProcessState.RUNNING
        status = {n.node: n.state for n in cluster.status().nodes}
        assert status == {"a1": "running", "b1": "running", "c1": "unreachable", "ctrl-1": "running"}
    wait_isr(cluster, "apart", (1, 2, 3))
    data = {"rack": "c", "other": "", "one_way": False}
    assert record.events == [
        ("fault", "cut c", "begin", data),
        ("fault", "cut c", "end", data),
        ("fault", "cut c healed", "point", data),
    ]


def test_a_fault_heals_only_its_own_change(cluster: KafkaCluster) -> None:
    with delay(cluster, "a", "b", "30ms"), cut(cluster, "b", "c", one_way=True), disconnected(cluster, "c1"):
        state = cluster.links.state
        assert (state.link("a", "b").rtt, state.cuts, state.disconnected) == ("30ms", [("b", "c")], ["c1"])
        with delay(cluster, "a", "c", "50ms"):
            pass
        state = cluster.links.state
        assert (state.link("a", "b").rtt, state.link("a", "c").rtt, state.cuts) == ("30ms", "20ms", [("b", "c")])
    state = cluster.links.state
    assert (state.link("a", "b").rtt, state.cuts, state.disconnected) == ("4ms", [], [])


def test_hosts_are_isolated_one_by_one_and_slowed(cluster: KafkaCluster) -> None:
    """The driver reaches a host that is cut off, and waits for a slow one."""
    c1 = cluster.node("c1").node
    record = Record()
    with staggered_cut(cluster, "c", gap="50ms", events=record):
        tried = f"bash -c '< /dev/tcp/{c1.address}/{c1.port}'"
        hosts = {"a1": 1, "b1": 1, "c1": 30}  # and seconds to try
        codes = {n: cluster.node(n).host.shell(f"timeout {seconds} {tried}").code for n, seconds in hosts.items()}
        assert codes == {"a1": 124, "b1": 124, "c1": 0}
        assert [s.racks for s in cluster.links.measure(samples=1)] == ["a-b"]
        assert answers(c1.address, c1.port, seconds=10)
        assert cluster.links.faults() == ["c1 is cut off from other racks"]
    with slowed(cluster, "c1", "60ms", events=record):
        observed = {s.racks: s.p50_ms for s in cluster.links.measure(samples=9)}
        assert observed["a-c"] is not None and observed["a-c"] > 70, "20 ms between the racks, 60 ms more to the host"
        assert observed["a-b"] is not None and observed["a-b"] < observed["a-c"] - 30
        began = time.monotonic()
        assert answers(c1.address, c1.port, seconds=10)
        assert time.monotonic() - began > 0.055
    with pytest.raises(RackspanError, match="cannot slow c1\n  observed: cannot read 'much' as a time with unit"):
        cluster.links.slow("c1", "much")
    with pytest.raises(RackspanError, match="cannot cut rack c host by host\n  observed: cannot read '1'"):
        cut_by_host(cluster, "c", "1")
    assert cluster.links.faults() == []
    data = {"nodes": ["c1"], "ids": [3]}
    assert [(e[1], e[3]) for e in record.events if e[2] == "begin"] == [
        ("staggered_cut c", data | {"gap": "50ms"}),
        ("slowed c1", data | {"rtt": "60ms"}),
    ]


THERE_AND_BACK = """import socket, sys
c, _ = socket.create_server((sys.argv[1], 7000)).accept()
c.sendall(b"x" * len(c.makefile("rb").read()))"""


def test_the_bandwidth_of_a_host_is_limited(cluster: KafkaCluster) -> None:
    """Half a megabyte there and back takes two seconds each way; a busy machine can only make that longer."""
    node = cluster.node("c1")
    files = {"pid_file": f"{node.host.root}/echo.pid", "output": f"{node.host.root}/echo.out"}
    echo = node.host.start([sys.executable, "-c", THERE_AND_BACK, node.node.address], env={}, **files)
    with bandwidth_limited(cluster, "c1", "2mbit") as name:
        assert (name, cluster.links.faults()) == ("c1", ["c1 has 2mbit each way"])
        times = [time.monotonic()]
        with wait_for("it to listen", lambda: socket.create_connection((node.node.address, 7000), 5), STUCK) as there:
            there.sendall(b"x" * 500_000)
            there.shutdown(socket.SHUT_WR)
            first = there.recv(1)  # it answers when it has everything
            times.append(time.monotonic())
            assert len(first + there.makefile("rb").read()) == 500_000
        times.append(time.monotonic())
    assert [later - earlier > 1.2 for earlier, later in itertools.pairwise(times)] == [True, True], times
    wait_for("it to end", lambda: node.host.state(echo) is ProcessState.GONE, STUCK)
    with pytest.raises(RackspanError, match="cannot limit c1\n  observed: cannot read '2' as a bandwidth with unit"):
        cluster.links.limit_bandwidth("c1", "2")
    assert cluster.links.faults() == []


def test_verbs_of_the_command_on_racks_with_links(cluster: KafkaCluster) -> None:
    home = home_of(cluster)
    ran = rackspan("exec", "b1", "--", "sh", "-c", "echo $ADDRESS; ls /sys/class/net | wc -l; exit 7", home=home)
    assert (ran.returncode, ran.stdout.split()[0]) == (7, "198.18.2.1:9092")
    done = rackspan("fault", "cut", "a,b", "--one-way", home=home)
    assert done.returncode == 0 and "a to b" in done.stdout, done.stderr
    done = rackspan("fault", "delay", "b,c", "12ms", home=home)
    assert done.returncode == 0, done.stderr
    fault.loss("b,c", "1%", "apart")  # in this process: a program's start is the longest part of each
    fault.slow(["b1"], "30ms", "10mbit", "apart")
    fault.slow(["a1"], "", "1gbit", "apart")
    fault.cut("c", False, "10ms", "apart")
    with pytest.raises(
        RackspanError, match="cannot cut a,b host by host\n  observed: a pair or one way\n  do:       name one"
    ):
        fault.cut("a,b", False, "10ms", "apart")
    listed = json.loads(rackspan("fault", "list", "-o", "json", home=home).stdout)
    assert [(r["racks"], r["rtt_ms"], r["cut"]) for r in listed["links"]] == [
        ("a-b", 4, "a to b"),
        ("a-c", 20, ""),
        ("b-c", 12, ""),
    ]
    assert [r["loss"] for r in listed["links"]] == ["0%", "0%", "1%"]
    assert {"a to b is cut", "b-c has 12ms, loss 1%, not 4ms", "b1 is slower by 30ms"} <= set(cluster.status().reasons)
    active = {a["what"] for a in listed["active"]}
    assert {"c1 is cut off from other racks", "a1 has 1gbit each way", "b1 has 10mbit each way"} <= active
    assert "a1 is slower" not in " ".join(active)
    healed = rackspan("fault", "heal", home=home)
    assert healed.returncode == 0 and "healed: a to b is cut" in healed.stderr
    cluster.wait_ready(seconds=60)


def test_nodes_are_paused_and_killed_on_their_hosts(cluster: KafkaCluster) -> None:
    cluster.pause("b1")
    assert cluster.node_states(["b1"]) == {"b1": "paused"}
    cluster.resume("b1")
    cluster.kill("b1")
    assert cluster.node_states(["b1"]) == {"b1": "crashed"}
    assert "Kafka Server started" in rackspan("logs", "b1", "--grep", "started", home=home_of(cluster)).stdout


def test_a_cluster_whose_delay_daemon_died_can_be_started_again(cluster: KafkaCluster) -> None:
    """All nodes end with the delay daemon; their data stays, and `start` makes a new network."""
    daemon = json.loads((cluster.folder / DAEMON).read_text())["pid"]
    os.kill(daemon, SIGKILL)
    nodes = [n.name for n in cluster.select("all")]
    wait_for("no node to run", lambda: not {"running", "paused"} & set(cluster.node_states(nodes).values()), STUCK)
    assert cluster.status().health == "failed"
    with pytest.raises(RackspanError, match="the hosts of cluster 'apart' are gone"):
        cluster.view()
    cluster.start("all")
    assert cluster.view().racks == {1: "a", 2: "b", 3: "c"}
    assert "apart" in {p.topic for p in cluster.view().partitions}


def test_delays_need_a_backend_with_delays(home: Path) -> None:
    done = rackspan("up", "--racks", "a:1,b:1", "--link", "a-b=2ms", home=home)
    assert done.returncode == 2
    assert "observed: links: the backend local cannot delay; give `backend: netns`" in done.stderr
    with pytest.raises(RackspanError, match="'a-x' is no pair of racks; racks: a, b, as in a-b"):
        small("wrong", racks="a:1,b:1", backend="netns", links={"a-x": "2ms"})
