"""Status and cluster view, from answers as Kafka gives them."""

from __future__ import annotations

from harness.cli.watch import racks
from harness.cluster.cluster_view import Partition, View, Voter, parse
from harness.cluster.node import last_error
from harness.cluster.rack_span import Span, spans
from harness.cluster.refusals import MIN_RACKS, MIN_REPLICAS, RefusedTopic, reasons, refused
from harness.cluster.status import ClusterStatus, NodeStatus, summarize
from harness.cluster.storage import meta_properties, random_id
from harness.hosts.host import Process, ProcessState
from harness.spec.cluster_spec import parse as parse_spec
from harness.spec.cluster_state import NodeRecord, State
from harness.spec.topology import plan

SPEC = parse_spec({"racks": "a:1,b:1", "controllers": 1})
PLAN = plan(SPEC)


def summary(states: dict[str, ProcessState], view: View | None, wanted: dict[str, str] | None = None) -> ClusterStatus:
    records = {n.name: NodeRecord(wanted=(wanted or {}).get(n.name, "running")) for n in PLAN.nodes}  # type: ignore[arg-type]
    state = State(spec=SPEC, distribution="/dist/stock", block=77, cluster_id="x", nodes=records, phase="up")
    nodes = [
        NodeStatus.of(n, Process(10 + n.id, 1), states.get(n.name, ProcessState.RUNNING), records[n.name].wanted, "")
        for n in PLAN.nodes
    ]
    return summarize(state, PLAN.bootstrap, nodes, view, "no broker answers")


def view(racks: dict[int, str], *partitions: Partition, leader: int = 101) -> View:
    return View(racks, leader, (Voter(101, 0),), partitions)


def test_a_cluster_without_faults_is_healthy() -> None:
    now = summary({}, view({1: "a", 2: "b"}, Partition("t", 0, 1, (1, 2), (1, 2))))
    assert (now.health, now.reasons, now.distribution) == ("healthy", (), "stock")
    a1, b1, ctrl = now.nodes
    assert (a1.leaders, a1.in_sync, a1.replicas, a1.pid) == (1, 1, 1, 11)
    assert (b1.leaders, b1.in_sync) == (0, 1)
    assert ctrl.leads_quorum and ctrl.leaders is None


def test_a_node_that_should_run_and_does_not_is_failed() -> None:
    now = summary({"a1": ProcessState.GONE}, view({2: "b"}))
    assert (now.nodes[0].state, now.nodes[0].pid) == ("failed", None)
    assert now.reasons == ("a1 is failed",) and now.health == "degraded"
    stopped = summary({"a1": ProcessState.GONE}, view({2: "b"}), {"a1": "stopped"})
    assert stopped.nodes[0].state == "stopped"


def test_a_node_that_was_killed_is_crashed() -> None:
    now = summary({"a1": ProcessState.GONE}, view({2: "b"}), {"a1": "crashed"})
    assert now.nodes[0].state == "crashed" and now.reasons == ("a1 is crashed",)


def test_a_lost_quorum_is_named_with_its_voters() -> None:
    lost = "controller quorum lost: 0 of 1 voters up"
    gone = {"ctrl-1": ProcessState.GONE}
    assert summary(gone, None, {"ctrl-1": "crashed"}).reasons == ("ctrl-1 is crashed", lost)
    assert summary(gone, view({1: "a", 2: "b"}, leader=-1)).reasons == ("ctrl-1 is failed", lost)
    assert summary({}, view({1: "a", 2: "b"}, leader=-1)).reasons == ("the controllers have no leader",)


def test_topics_that_refuse_writes_are_named() -> None:
    racks = {1: "a", 2: "a", 3: "b"}
    partitions = [
        Partition("enough", 0, 1, (1, 3), (1, 3)),
        Partition("orders", 0, 1, (1, 2, 3), (1, 2)),
        Partition("orders", 1, 1, (1, 2, 3), (1,)),
        Partition("pair", 0, 1, (1, 2), (1,)),
        Partition("gone", 0, -1, (1, 3), (1,)),
        Partition("__consumer_offsets", 0, 1, (1, 2), (1,)),
        Partition("lowered", 0, 1, (1,), (1,)),
    ]
    needs = {MIN_RACKS: "2", MIN_REPLICAS: "2"}
    found = refused(
        partitions,
        racks,
        {
            **dict.fromkeys(["enough", "orders", "gone"], needs),
            "pair": {MIN_REPLICAS: "2"},
            "__consumer_offsets": {MIN_RACKS: "2"},
            "lowered": {MIN_REPLICAS: "3"},
        },
    )
    assert found == [RefusedTopic("orders", 2, "racks"), RefusedTopic("pair", 1, "replicas")]
    assert reasons(found) == [
        "writes to 1 topic are refused: too few racks in sync: orders",
        "writes to 1 topic are refused: too few replicas in sync: pair",
    ]
    many = [RefusedTopic(f"t{n}", 1, "racks") for n in range(7)]
    assert reasons(many) == ["writes to 7 topics are refused: too few racks in sync: t0, t1, t2, t3, t4 and 2 more"]


def test_nodes_are_paused_or_unreachable() -> None:
    now = summary({"a1": ProcessState.PAUSED}, view({}))
    assert [n.state for n in now.nodes] == ["paused", "unreachable", "running"]


def test_partitions_without_leader_or_behind_are_counted() -> None:
    now = summary({}, view({1: "a", 2: "b"}, Partition("t", 0, -1, (1, 2), (1,)), Partition("t", 1, 2, (2, 1), (2,))))
    assert now.reasons == ("1 partitions without leader", "2 partitions under-replicated")


def test_a_cluster_whose_brokers_do_not_answer_is_down() -> None:
    now = summary({}, None)
    assert now.health == "down" and now.reasons == ("no broker answers",)
    assert summary({"a1": ProcessState.GONE, "b1": ProcessState.GONE}, None).health == "failed"


def test_the_rack_span_of_a_topic_is_that_of_its_worst_partition() -> None:
    now = view(
        {1: "a", 2: "b"},
        Partition("t", 0, 1, (1, 2, 3), (1, 2, 3)),
        Partition("t", 1, 2, (2, 3), (2, 3)),
        Partition("alone", 0, -1, (1,), (1,)),
    )
    alone, t = spans(now, {1: "a", 2: "b", 3: "b"}, {"t": 2})
    assert alone == Span("alone", partitions=1, leaderless=1, racks=0, requested=0, placed=1)
    assert t == Span("t", partitions=2, leaderless=0, racks=1, requested=2, placed=1)
    assert not alone.enough and not t.enough and spans(now, {1: "a", 2: "b", 3: "c"}, {"t": 2})[1].enough


def test_a_rack_is_up_degraded_or_down() -> None:
    now = summary({"a1": ProcessState.GONE}, view({2: "b"}, Partition("t", 0, 2, (1, 2), (2,))))
    assert [[str(cell) for cell in row] for row in racks(now.nodes)] == [
        ["a", "degraded", "1 of 2", "0", "0/1"],
        ["b", "up", "1 of 1", "1", "1/1"],
    ]
    paused = summary({"b1": ProcessState.PAUSED}, None)
    assert [str(cell) for cell in racks(paused.nodes)[1]] == ["b", "down", "0 of 1", "None", "None"]


def test_metadata_and_quorum_become_a_cluster_view() -> None:
    voters = [
        {"replica_id": 101, "last_fetch_timestamp": -1, "last_caught_up_timestamp": 10_000},
        {"replica_id": 102, "last_fetch_timestamp": 9_400, "last_caught_up_timestamp": 9_000},
        {"replica_id": 103, "last_fetch_timestamp": -1, "last_caught_up_timestamp": -1},
    ]
    quorum = {"topics": [{"partitions": [{"leader_id": 101, "current_voters": voters}]}]}
    topics = [
        {
            "name": "t",
            "partitions": [{"partition_index": 0, "leader_id": 2, "replica_nodes": [2, 1], "isr_nodes": [2]}],
        }
    ]
    observed = parse({"brokers": [{"broker_id": 1, "rack": "a"}, {"broker_id": 2, "rack": None}]}, quorum, topics)
    assert observed.racks == {1: "a", 2: ""}
    assert observed.voters == (Voter(101, 0), Voter(102, 600), Voter(103, -1))
    assert observed.under_replicated == [Partition("t", 0, 2, (2, 1), (2,))]


def test_last_error_prefers_the_exception_that_explains_it() -> None:
    text = (
        "[2026-01-01 00:00:00,000] INFO starting (kafka)\n"
        "[2026-01-01 00:00:01,000] ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)\n"
        "org.apache.kafka.common.config.ConfigException: Invalid value x for configuration num.io.threads\n"
        "\tat kafka.Kafka.main(Kafka.java)\n"
    )
    assert last_error(text).endswith(
        "ERROR Exiting Kafka due to fatal exception (kafka.Kafka$) / "
        "org.apache.kafka.common.config.ConfigException: Invalid value x for configuration num.io.threads"
    )
    assert last_error("one\ntwo\n") == "two" and last_error("") == ""


def test_ids_never_look_like_options() -> None:
    ids = {random_id() for _ in range(500)}
    assert len(ids) == 500 and not any(i.startswith("-") for i in ids) and {len(i) for i in ids} == {22}
    assert meta_properties("c", 7, "d") == "version=1\ncluster.id=c\nnode.id=7\ndirectory.id=d\n"
