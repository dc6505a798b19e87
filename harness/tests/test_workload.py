"""Workload files: invalid ones, the placement of replicas, and the order of modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.benchmark import workload
from harness.benchmark.run import beyond, cluster_spec
from harness.benchmark.validity import late, reasons, saturated
from harness.benchmark.workload import Ramp, Workload
from harness.cli.run import comparison
from harness.common.errors import RackspanError
from harness.recording import awaited_sets, follower_fetches
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.topology import plan

GOOD: dict[str, Any] = {
    "name": "mine",
    "cluster": {"racks": {"a": 2, "b": 2, "c": 1}},
    "topic": {"leaders": ["a"], "partitions": 3, "settings": {"min.insync.racks": 2}},
    "load": {"rate": 100},
    "modes": [{"name": "new", "role": "candidate", "acks": "1"}, {"name": "old", "role": "baseline"}],
    "fault": {"how": "kill", "target": "rack:c"},
}

CALM = [*GOOD["modes"], {"name": "calm", "role": "unaffected", "acks": "1", "label": "calm"}]


def made(**changes: Any) -> Workload:
    return Workload.model_validate({**GOOD, **changes})


def test_modes_without_a_role_of_their_own_are_recorded_by_name() -> None:
    modes = [*GOOD["modes"], *({"name": n, "role": "other", "label": n} for n in ("two", "three"))]
    assert [m.recorded_role for m in made(modes=modes).modes] == ["candidate", "baseline", "two", "three"]


def refusal(tmp_path: Path, **changes: Any) -> str:
    file = tmp_path / "w.yaml"
    file.write_text(yaml.safe_dump({**GOOD, **changes}))
    with pytest.raises(RackspanError) as caught:
        workload.load(str(file))
    assert caught.value.code == 2
    return str(caught.value)


def test_an_unknown_workload_names_the_nearest_one() -> None:
    with pytest.raises(RackspanError, match="no workload 'quite'; did you mean 'quiet'"):
        workload.load("quite")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"laod": {}}, "no key 'laod'; did you mean 'load'?"),
        ({"cluster": {"rakcs": "a:1"}}, "cluster: no key 'rakcs'; did you mean 'racks'?"),
        ({"modes": [*GOOD["modes"], {"name": "x", "akcs": "1"}]}, "modes.2: no key 'akcs'; did you mean 'acks'?"),
        ({"modes": [GOOD["modes"][0]] * 2}, "modes: two have the name 'new'"),
        ({"modes": [{"name": "x"}, {"name": "y", "acks": "1"}]}, "exactly one must have the role 'candidate', not 0"),
        ({"topic": {"leaders": ["d"]}}, "topic.leaders: no rack 'd'"),
        ({"topic": {"leaders": ["a"], "replication": 6}}, "6 replicas need as many brokers, not 5"),
        ({"fault": {"how": "pause", "target": "a2"}}, "fault.target: a2 leads partitions"),
        ({"modes": CALM, "fault": None}, "modes: 'unaffected' is the control of a `fault`, and there is none"),
        ({"modes": CALM, "fault": {"how": "kill", "target": "a1"}}, "a1 leads partitions; no topic is unaffected"),
        ({"fault": {"how": "pause", "target": "c3"}}, "fault.target: no broker or rack 'c3'; did you mean 'c1'?"),
        ({"record": "histogram"}, "record: histogram keeps no single records, which `fault` and `oracle` need"),
        ({"ramp": {"rates": [1, 2]}}, "ramp: it needs `record: histogram`"),
        ({"ramp": {"rates": [2, 2]}}, "ramp.rates: each rate must be above the one before"),
        ({"stalls": {"nodes": ["a1"], "every": 1}}, "stalls.nodes: no broker that only follows 'a1'; did you mean"),
        ({"load": {"rate": 1, "arrivals": "poison"}}, "load.arrivals: Input should be 'fixed' or 'poisson'"),
        ({"load": {"rate": 1, "arrivals": "poisson", "unanswered_kib": 64}}, "load.arrivals: a closed loop"),
        ({"load": {"rate": 0}}, "load.rate: Input should be greater than 0, not 0"),
    ],
)
def test_an_invalid_workload_is_refused_with_the_reason(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    assert reason in refusal(tmp_path, **changes)


def test_replicas_are_led_in_the_requested_racks_and_span_all() -> None:
    w = made()
    nodes = plan(w.cluster).brokers
    racks = {n.id: n.rack for n in nodes}
    placed = w.replicas(nodes)
    assert all(racks[ids[0]] == "a" and racks[ids[1]] != "a" and len(set(ids)) == 3 for ids in placed)
    assert len(placed) == 3 and len({ids[0] for ids in placed}) == 2, "both brokers of the rack lead"
    assert [n.name for n in w.faulted(nodes)] == ["c1"]


def test_the_main_job_compares_with_a_far_rack_and_without_networks_with_a_paused_follower() -> None:
    far, paused = comparison(""), comparison("no NFQUEUE")
    assert far.cluster.backend == "netns" and far.fault is None
    assert paused.cluster.backend == "local" and paused.fault is not None
    assert paused.fault.seconds == paused.blocks.seconds < 5 and paused.blocks.rounds == 6
    for compared in (far, paused):
        roles = {mode.role: mode.acks for mode in compared.modes}
        assert (roles["candidate"], roles["baseline"], roles["control"]) == ("min.insync.replicas", "all", "all")


def test_two_racks_puts_replicas_on_all_brokers_and_names_its_variants() -> None:
    w = workload.load("two-racks")
    nodes = plan(w.cluster).brokers
    placed = w.replicas(nodes)
    assert sorted(ids[0] for ids in placed) == sorted(n.id for n in nodes), "every broker leads"
    assert all(sorted(ids) == sorted(n.id for n in nodes) for ids in placed)
    assert [m.shown for m in w.modes] == [
        "stock acks=all min.insync.replicas=3",
        "stock acks=all min.insync.replicas=3 once more",
        "rackspan acks=all min.insync.replicas=2 min.insync.racks=2",
    ]


def test_rack_distances_are_from_the_leading_rack() -> None:
    assert workload.load("unequal-racks").rtt_ms() == {"b": 2, "c": 20}
    assert workload.load("racks-2ms").rtt_ms() == {"b": 2, "c": 2}
    assert workload.load("quiet").rtt_ms() == {}


def test_a_workload_without_delays_runs_on_either_backend() -> None:
    assert workload.load("quiet").on("netns").cluster.backend == "netns"
    assert workload.load("unequal-racks").on("netns") == workload.load("unequal-racks")


def test_if_the_leading_rack_is_killed_other_racks_can_lead() -> None:
    killed = made(fault={"how": "kill", "target": "rack:a"})
    assert killed.leaders_fail and not made().leaders_fail and not made(fault=None).leaders_fail


@pytest.mark.parametrize(
    ("rate", "observed", "reason"),
    [
        (1000, {"acked_per_s": 990.0, "p99_us": 9_000, "lag_p99_us": 900}, ""),
        (1000, {"acked_per_s": 890.0, "p99_us": 9_000, "lag_p99_us": 900}, "890 of 1,000 records a second"),
        (1000, {"acked_per_s": 990.0, "p99_us": 11_000, "lag_p99_us": 900}, "p99 was 11.0 ms, 1.0 ms at the first"),
        (1000, {"acked_per_s": 990.0, "p99_us": 9_000, "lag_p99_us": 11_000}, "send lag p99 11.0 ms"),
        (1000, {"acked_per_s": 0.0, "p99_us": None, "lag_p99_us": None}, "0 of 1,000 records a second"),
    ],
)
def test_a_rate_is_beyond_capacity_if_answers_or_latency_fall_behind(
    rate: float, observed: dict[str, Any], reason: str
) -> None:
    ramp, first = Ramp.model_validate({"rates": [1, 2]}), {"p99_us": 1_000}
    found = beyond(ramp, made().limits, rate, observed, first)
    assert (reason in found) if reason else found == ""


def test_settings_become_text() -> None:
    assert made().topic.settings == {"min.insync.racks": "2"}
    assert made(modes=[{**GOOD["modes"][0], "topic": {"x.y": True}}, GOOD["modes"][1]]).modes[0].topic == {
        "x.y": "true"
    }


def test_shorter_blocks_shorten_the_fault_too() -> None:
    short = made().changed(rounds=2, seconds=3, warmup=None)
    assert (short.blocks.rounds, short.blocks.spare, short.blocks.seconds, short.blocks.warmup) == (2, 0, 3, 20)
    assert short.fault is not None and short.fault.seconds == 3


@pytest.mark.parametrize(
    ("observed", "reason"),
    [
        ({}, []),
        ({"cpu_busy": 0.95, "steal": 0.2}, ["the processors were 95% busy", "20% of the processors' time was taken"]),
        ({"rtt_off": 0.3}, ["round-trip times between racks were off by up to 30%"]),
        ({"isr": 2, "replicas": 2}, []),
        ({"cpu_busy": 0.95, "cpu_own": 0.89}, ["the processors were 95% busy"]),
        ({"isr": 2}, ["the paused follower left the in-sync set: 2 in sync at the end"]),
        ({"isr": 3, "stalls": 1}, []),
        ({"stalls": 0}, ["no follower was stalled"]),
    ],
)
def test_a_block_is_invalid_if_the_machine_disturbed_it(observed: dict[str, Any], reason: list[str]) -> None:
    changes: dict[str, Any] = {"fault": {"how": "pause", "target": "c1"}, "stalls": {"nodes": ["c1"], "every": 1}}
    found = reasons(made(**changes), {"cpu_busy": 0.4, "steal": 0.0, "stalls": 1, "replicas": 3, **observed})
    assert [text[: len(start)] for text, start in zip(found, reason, strict=True)] == reason


def test_a_mode_that_saturates_the_machine_by_itself_is_slow_rather_than_invalid() -> None:
    observed = {"cpu_busy": 0.97, "cpu_own": 0.93, "steal": 0.0, "lag_p99_us": 50_000}
    limits = made(fault=None).limits
    assert saturated(limits, observed) == "its own client and brokers kept the processors 93% busy"
    assert reasons(made(fault=None), observed) == [] == late(made(fault=None), observed)
    stolen = reasons(made(fault=None), {**observed, "steal": 0.2})
    assert stolen == ["20% of the processors' time was taken away"], "what comes from outside is still a reason"
    assert saturated(limits, {"cpu_busy": 0.97}) == "" == saturated(limits, {"cpu_busy": 0.97, "cpu_own": 0.9})


def test_a_topic_that_the_fault_does_not_affect_has_the_other_replicas() -> None:
    fault = {"how": "pause", "target": "c1"}
    w = made(fault=fault, modes=CALM)
    nodes = plan(w.cluster).brokers
    broken = {n.id for n in w.faulted(nodes)}
    kept, affected = w.replicas(nodes, without=broken), w.replicas(nodes)
    assert all(set(ids) == set(all_ids) - broken for ids, all_ids in zip(kept, affected, strict=True))
    assert [ids[0] for ids in kept] == [ids[0] for ids in affected] and {len(ids) for ids in kept} == {2, 3}


@pytest.mark.parametrize(
    ("rate", "beyond", "reason"),
    [(1, "p99 was 9 ms", ["the first rate was too much already: p99 was 9 ms"]), (2, "p99 was 9 ms", []), (1, "", [])],
)
def test_a_ramp_that_ends_at_its_first_rate_is_invalid(rate: float, beyond: str, reason: list[str]) -> None:
    ramp = made(ramp={"rates": [1, 2]}, record="histogram", fault=None)
    assert reasons(ramp, {"cpu_busy": 0.4, "steal": 0.0, "rate": rate, "beyond": beyond}) == reason


def test_a_late_client_is_reported_where_it_is_not_the_limit_searched() -> None:
    assert late(made(), {"lag_p99_us": 10_000}) == late(made(), {"lag_p99_us": None}) == []
    assert late(made(), {"lag_p99_us": 10_500}) == ["the load client was late: send lag p99 10.5 ms"]
    ramp = made(fault=None, record="histogram", ramp={"rates": [1, 2]})
    assert late(ramp, {"lag_p99_us": 10_500}) == []


def test_an_oracle_enables_the_fetch_log_of_brokers() -> None:
    logged = cluster_spec(made(oracle=True), "stock", None, 1)
    assert logged.debug == [*follower_fetches.LOGGERS, *awaited_sets.LOGGERS]
    assert ClusterSpec.model_validate(logged.model_dump()) == logged, "a spec that can be read again"
    spec = cluster_spec(made(), "rackspan", None, 0)
    assert (spec.name, spec.distribution, spec.debug) == ("bench-0-mine", "rackspan", [])


def test_modes_of_one_distribution_at_two_levels_have_a_cluster_each() -> None:
    modes = workload.load("electable-racks").modes
    assert [m.cluster for m in modes] == [("rackspan", level) for level in (2, 1, 1, 2)]
    assert made().modes[0].cluster == ("rackspan", None)
    low, high = (cluster_spec(workload.load("electable-racks"), "rackspan", level, 0) for level in (1, 2))
    assert (low.features["rackspan.version"], high.features["rackspan.version"]) == (1, 2)
    assert low.settings == high.settings == {"broker.session.timeout.ms": "60000"}


def test_a_fetch_is_known_when_its_leader_reads_it_not_when_it_has_answered_those_who_waited() -> None:
    def read(ns: int, thread: str, topic: str, offset: int) -> str:
        return (
            f"{ns} [{thread}] [ReplicaManager broker=1] Fetching log segment for partition {'u' * 22}:{topic}-0, "
            f"offset {offset}, partition fetch size 1048576, remaining response limit 10485760"
        )

    def counted(ns: int, thread: str, topic: str, follower: int, leo: int) -> str:
        return (
            f"{ns} [{thread}] [Partition {topic}-0 broker=1] Recorded replica {follower} log end offset (LEO) position "
            f"{leo} and log start offset 0."
        )

    lines = [
        counted(90, "handler-1", "all-again", 2, 15),  # the line before it is missing
        read(100, "handler-1", "all-again", 17),
        read(101, "handler-2", "all-again", 18),
        counted(110, "handler-1", "all-again", 2, 17),
        read(112, "handler-1", "all-again", 17),
        counted(113, "handler-1", "all-again", 2, 17),
        counted(114, "handler-2", "all-again", 3, 18),
        read(115, "handler-2", "all-again", 3),  # a consumer's
        read(120, "handler-1", "other", 9),
        counted(130, "handler-1", "other", 3, 9),
        "140 [handler-1] [Partition all-again-0 broker=1] Increment HW",
        read(141, "handler-1", "all-again", 21),
        read(142, "handler-1", "all-again", 18),  # for another follower, which waited for the high watermark
        counted(143, "handler-1", "all-again", 3, 21),
        read(150, "handler-2", "all-again", 19),
        counted(151, "handler-2", "all-again", 2, 19),
        "160 [handler-2] [Partition all-ag",
    ]
    assert follower_fetches.parse(lines, ["all-again"]).to_pylist() == [
        {"mono_ns": t, "topic": "all-again", "partition": 0, "leader": 1, "follower": f, "leo": leo}
        for t, f, leo in [(100, 2, 17), (101, 3, 18), (141, 3, 21), (150, 2, 19)]
    ]
