"""The pure parts of a soak: schedules from seeds, the metadata timeline, the tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.common.errors import Exit, RackspanError
from harness.distribution.locate import find
from harness.recording.metadata_timeline import timeline
from harness.soak.checker_process import CheckerProcess
from harness.soak.cycle import cycle_producers
from harness.soak.results import Cycle, Soak, carried_on
from harness.soak.schedule import EVERYWHERE, NETWORK, Kind, ScheduledFault, kinds_of, schedule
from harness.spec.links import milliseconds, share
from harness.spec.rackspan_level import formatted_level

_RACKS, _BROKERS = ["a", "b", "c"], ["a1", "b1", "c1"]
_ALL = EVERYWHERE + NETWORK
_ABLE = ("cut", "delay", "slow")


def cycles(seed: int, count: int, kinds: Sequence[Kind] = _ALL) -> list[ScheduledFault]:
    return [f for n in range(1, count + 1) for f in schedule(seed, n, _RACKS, _BROKERS, kinds)]


def test_a_seed_replays_its_faults() -> None:
    assert cycles(1, 40) == cycles(1, 40)
    assert cycles(1, 40) != cycles(2, 40)
    assert schedule(1, 7, _RACKS, _BROKERS) == schedule(1, 7, _RACKS, _BROKERS), "a cycle needs none before it"
    # Written down: another Python, or another order of draws, must not replay other faults than the seed printed.
    assert [f.kind for f in cycles(1, 3, EVERYWHERE)] == [
        "power_cut controller",
        "power_cut leader",
        "kill controller",
        "roll_stop all",
        "kill node",
        "stop node",
    ]


@pytest.mark.parametrize("kinds", [EVERYWHERE, _ALL])
def test_as_many_cycles_as_kinds_have_every_kind_of_fault(kinds: Sequence[Kind]) -> None:
    for seed in range(50):
        found = Counter(f.kind for f in cycles(seed, len(kinds), kinds))
        assert found.keys() == {f"{what} {whom}" for what, whom in kinds}, seed
    assert Counter(f.kind for f in cycles(7, 300, kinds))["power_cut rack"] > 20, "the ones that matter come most"


@pytest.mark.parametrize("can", [(), _ABLE])
def test_cycles_of_five_faults_have_every_kind_after_a_fifth_of_them(can: Sequence[str]) -> None:
    kinds = kinds_of("", can)
    for seed in range(50):
        drawn = [schedule(seed, n, _RACKS, _BROKERS, kinds, per_cycle=5) for n in range(1, 2 + len(kinds) // 5)]
        assert {f.kind for faults in drawn for f in faults} == {f"{what} {whom}" for what, whom in kinds}, seed
        assert {len(faults) for faults in drawn} <= {5, 6}


def test_drawn_faults_are_well_formed() -> None:
    for f in cycles(7, 600):
        targets = {"rack": _RACKS, "pair": _RACKS, "node": _BROKERS, "all": ["", "cluster"]}.get(f.whom, [""])
        assert f.target in targets and f.seconds > 0
        assert (f.other in _RACKS and f.other != f.target) == (
            f.what in ("cut_behind_pause", "degrade") or f.whom == "pair"
        )
        assert f.tail == "none" or f.what in ("power_cut", "cut_behind_pause", "degrade")
        if f.what in ("delay", "stagger", "slow"):
            assert 20 <= milliseconds(f.much) <= 200
        elif f.what == "loss":
            assert 0.03 <= share(f.much) <= 0.3
        else:
            assert f.much == ""


def test_faults_are_chosen_by_name() -> None:
    assert kinds_of("", ()) == EVERYWHERE
    assert kinds_of("", _ABLE) == _ALL
    assert set(_ALL) - set(kinds_of("", ("cut",))) == {("delay", "pair"), ("loss", "pair"), ("slow", "leader")}
    assert kinds_of("power-cut:rack, roll_stop", ()) == (("power_cut", "rack"), ("roll_stop", "all"))
    assert {k[1] for k in kinds_of("kill", ())} == {"node", "rack", "leader", "controller"}
    assert kinds_of("cut", _ABLE) == (("cut", "rack"), ("cut", "pair"))
    with pytest.raises(RackspanError) as e:
        kinds_of("kil", ())
    assert str(e.value) == (
        "fault 'kil' not found\n  observed: did you mean kill?\n"
        "  do:       name some of them, as in --faults kill,power_cut:rack"
    )
    with pytest.raises(RackspanError, match="observed: faults: kill, stop, pause"):
        kinds_of("earthquake", _ABLE)
    with pytest.raises(RackspanError) as e:
        kinds_of("kill,disconnect", ())
    assert e.value.code == Exit.ENVIRONMENT
    assert str(e.value) == (
        "the soak cannot have the fault disconnect here\n  observed: the backend lacks: cut\n"
        "  do:       add --backend netns"
    )


def record(offset: int, kind: str, **data: object) -> str:
    record = json.dumps({"type": kind, "version": 0, "data": data})
    return f"| offset: {offset} CreateTime: {1000 + offset} keySize: -1 valueSize: 1 headerKeys: [] payload: {record}"


def test_the_metadata_log_becomes_a_timeline() -> None:
    setting = {"resourceType": 2, "resourceName": "t", "name": "min.insync.racks"}
    default = {"resourceType": 4, "resourceName": "", "name": "min.insync.replicas", "value": "2"}
    part = {"partitionId": 0, "topicId": "T"}
    lines = [
        "Dumping 0.log",
        record(1, "CONFIG_RECORD", **default),
        record(2, "REGISTER_BROKER_RECORD", brokerId=1, rack="a"),
        record(3, "REGISTER_BROKER_RECORD", brokerId=2, rack="b"),
        record(4, "REGISTER_BROKER_RECORD", brokerId=3, rack="b"),
        record(5, "TOPIC_RECORD", name="t", topicId="T"),
        record(6, "TOPIC_RECORD", name="other", topicId="O"),
        record(7, "CONFIG_RECORD", **setting, value="2"),
        record(
            8, "PARTITION_RECORD", **part, replicas=[1, 2, 3], isr=[1, 2, 3], leader=1, leaderEpoch=0, partitionEpoch=0
        ),
        record(9, "PARTITION_CHANGE_RECORD", partitionId=0, topicId="O", isr=[1]),
        record(10, "PARTITION_CHANGE_RECORD", **part, isr=[2, 3], leader=2),
        record(11, "PARTITION_CHANGE_RECORD", **part, isr=[], leader=-1, eligibleLeaderReplicas=[2]),
        record(12, "PARTITION_CHANGE_RECORD", **part, isr=[2], leader=2, eligibleLeaderReplicas=[]),
        record(13, "CONFIG_RECORD", **setting, value="1"),
        record(14, "CONFIG_RECORD", **setting, value=None),
        record(15, "REGISTER_BROKER_RECORD", brokerId=2, rack="c"),
        record(16, "REMOVE_TOPIC_RECORD", topicId="T"),
        record(17, "CONFIG_RECORD", **setting, value="3"),
    ]
    rows, degrades, _, recreated = timeline("\n".join(lines), {"t"})
    assert degrades == [] and recreated == {}
    names = ("metadata_offset", "leader", "leader_epoch", "partition_epoch", "isr", "elr", "isr_racks", "min_racks")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (8, 1, 0, 0, "1,2,3", "", 2, 2),
        (10, 2, 1, 1, "2,3", "", 1, 2),
        (11, -1, 2, 2, "", "2", 0, 2),
        (12, 2, 3, 3, "2", "", 1, 2),
        (13, 2, 3, 3, "2", "", 1, 1),
        (14, 2, 3, 3, "2", "", 1, 1),
        (15, 2, 3, 3, "2", "", 1, 1),
    ]
    assert {row["min_replicas"] for row in rows} == {2} and rows[-1]["replica_racks"] == 3
    assert rows[0]["t_ns"] == 1008 * 1_000_000


def test_a_topic_that_is_created_again_begins_anew() -> None:
    setting = {"resourceType": 2, "resourceName": "t", "name": "min.insync.racks", "value": "2"}

    def created(offset: int, topic_id: str) -> list[str]:
        part = {"replicas": [1], "isr": [1], "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0}
        made = record(offset, "TOPIC_RECORD", name="t", topicId=topic_id)
        return [made, record(offset + 1, "PARTITION_RECORD", partitionId=0, topicId=topic_id, **part)]

    lines = [
        *created(1, "A"),
        record(3, "CONFIG_RECORD", **setting),
        record(4, "PARTITION_CHANGE_RECORD", partitionId=0, topicId="A", isr=[1], leader=1),
        record(5, "REMOVE_TOPIC_RECORD", topicId="A"),
        *created(6, "B"),
    ]
    rows, _, _, recreated = timeline("\n".join(lines), {"t"})
    assert [(row["metadata_offset"], row["leader_epoch"], row["min_racks"]) for row in rows] == [(7, 0, 1)]
    assert recreated == {"t": 1006 * 1_000_000}


def test_the_metadata_log_has_the_lowest_level_since_the_topic_was_created() -> None:
    def level(offset: int, value: int, name: str = "rackspan.version") -> str:
        return record(offset, "FEATURE_LEVEL_RECORD", name=name, featureLevel=value)

    created = record(5, "TOPIC_RECORD", name="t", topicId="T")
    before = [level(1, 1), record(2, "TOPIC_RECORD", name="other", topicId="O"), level(3, 2), level(4, 0, "elr")]
    cases = {(): 2, (level(6, 1), level(7, 2)): 1, (record(6, "TOPIC_RECORD", name="u", topicId="U"),): 2}
    for after, lowest in cases.items():
        assert timeline("\n".join([*before, created, *after]), {"t", "u"})[2] == lowest, after
    assert timeline("\n".join([*before, created]), {"none"})[2] == 2
    assert timeline(created, {"t"})[2] == 0


def test_the_metadata_log_has_the_times_of_degrades() -> None:
    default = {"resourceType": 4, "resourceName": "", "name": "min.insync.racks", "value": "3"}
    stored = "since=2026-01-01T00:00:00Z,until=2026-01-02T00:00:00Z,by=User:a,reason=x, y"

    def setting(offset: int, value: str | None, topic: str = "t") -> str:
        name = "min.insync.racks.degrade"
        return record(offset, "CONFIG_RECORD", resourceType=2, resourceName=topic, name=name, value=value)

    lines = [record(1, "CONFIG_RECORD", **default), setting(2, f"to=1,from=2,{stored}")]
    lines += [setting(3, f"to=1,from=,{stored}"), setting(4, f"to=1,from=2,{stored}", "other"), setting(5, None)]
    lines += [setting(6, f"to=1,from=2,{stored}")]
    assert timeline("\n".join(lines), {"t"})[1] == [
        {"topic": "t", "promised": 2, "begin_ns": 1002 * 1_000_000, "end_ns": 1003 * 1_000_000},
        {"topic": "t", "promised": 3, "begin_ns": 1003 * 1_000_000, "end_ns": 1005 * 1_000_000},
        {"topic": "t", "promised": 2, "begin_ns": 1006 * 1_000_000, "end_ns": 1 << 62},
    ]


def soak_of(*verdicts: dict[str, object]) -> Soak:
    faults: tuple[list[ScheduledFault], ...] = (
        [ScheduledFault("power_cut", "rack", "a", 2.0, "torn")],
        [ScheduledFault("cut_behind_pause", "rack", "a", 2.0, "none", "b")],
        [],
    )
    return Soak({"seed": 5}, [Cycle(n + 1, f"r{n + 1}", faults[n], dict(v)) for n, v in enumerate(verdicts)])


_TOTALS: dict[str, object] = {"sent": 10, "acknowledged": 8, "refused": 1, "unknown": 1, "longest_silence_ms": 2100}
_GOOD: dict[str, object] = {"verdict": "ok", "counts": {}, "totals": _TOTALS}
_BAD: dict[str, object] = {
    "verdict": "anomalies",
    "counts": {"lost-write": 3},
    "totals": _TOTALS | {"longest_silence_ms": 50},
}


def test_a_soak_is_summed_up_in_two_tables() -> None:
    assert soak_of(_GOOD).good
    soak = soak_of(_GOOD, _BAD)
    assert not soak.good
    assert soak.table().splitlines()[2:] == [
        "| 1 | power cut rack a (torn tail) | 10 | 8 | 1 | 1 | 0 | 2.1 s |",
        "| 2 | rack b paused, power cut of rack a | 10 | 8 | 1 | 1 | 3 | 0.1 s |",
        "| all |  | 20 | 16 | 2 | 2 | 3 | 2.1 s |",
    ]
    soak.cycles[1].faults *= 2
    assert soak.by_kind().splitlines() == [
        "| fault | times | cycles | sent | acknowledged | refused | unknown | anomalies | longest silence |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "| cut behind pause rack | 2 | 1 | 10 | 8 | 1 | 1 | 3 | 0.1 s |",
        "| power cut rack | 1 | 1 | 10 | 8 | 1 | 1 | 0 | 2.1 s |",
        "| all | 3 | 2 | 20 | 16 | 2 | 2 | 3 | 2.1 s |",
    ]


def test_a_soak_that_shows_nothing_is_not_well() -> None:
    """The exit code is that of a check of its cycles: anomalies, then what could not be known."""
    silent = _GOOD | {"totals": _TOTALS | {"acknowledged": 0}}
    unread = _GOOD | {"verdict": "unknown", "unread": ["orders-0: 2 of 3 replicas read"]}
    assert (soak_of(_GOOD).exit_code, soak_of(_GOOD, silent).exit_code) == (Exit.OK, Exit.OK)
    assert (soak_of(silent).exit_code, soak_of(_GOOD, unread).exit_code) == (Exit.UNKNOWN, Exit.UNKNOWN)
    assert soak_of(unread, _BAD).exit_code == Exit.FAILED


def test_losses_that_level_1_allows_are_counted_and_printed() -> None:
    none, some, all_kept = (
        _GOOD | {"totals": _TOTALS | {"acknowledged_by_quorum": n}, "allowed": {"lost-to-election": lost}}
        for n, lost in ((0, 0), (3, 3), (40, 0))
    )
    assert "level 1" not in soak_of(_GOOD, none).text()
    soak = soak_of(none, some, all_kept)
    assert soak.text().splitlines()[-1] == (
        "3 of 43 records acknowledged with acks=min.insync.replicas were lost to elections, which level 1 allows"
    )
    assert soak.good and soak.plain()["cycles"][1]["allowed"] == {"lost-to-election": 3}
    level_2 = _GOOD | {"totals": _TOTALS | {"acknowledged_by_set": 7}}
    assert soak_of(level_2, level_2).text().splitlines()[-1] == (
        "14 records acknowledged with acks=min.insync.replicas at level 2: none may be lost"
    )


def test_a_soak_says_how_often_each_promise_was_tried() -> None:
    quiet = _GOOD | {"verdict": "unknown", "unread": [], "untried": ["ack-under-racks"]}
    quiet |= {"exposure": {"lost-write": 8, "ack-under-racks": 0}}
    loud = _GOOD | {"exposure": {"lost-write": 8, "ack-under-racks": 5}, "untried": []}
    soak = soak_of(quiet, quiet)
    assert soak.good, "another cycle may try it"
    assert soak.untried == ["ack-under-racks"] and soak.plain()["untried"] == ["ack-under-racks"]
    assert "never tried, so not known: ack-under-racks" in soak.text()
    soak = soak_of(quiet, loud)
    assert soak.untried == [] and "never tried" not in soak.text()
    assert soak.tried().splitlines() == [
        "| promise broken by | tried | in cycles |",
        "| --- | --- | --- |",
        "| lost-write | 16 | 2 |",
        "| ack-under-racks | 5 | 1 |",
    ]
    assert not soak_of(quiet | {"unread": ["orders-0: 2 of 3 replicas read"]}).good


def test_only_a_distribution_with_levels_has_producers_with_acks_min_insync_replicas() -> None:
    stock, ours = (cycle_producers("", "t", 10, level) for level in (0, 2))
    assert [(p.producer, p.acks, p.retries) for p in stock] == [
        ("patient", "all", None),
        ("no-retry", "all", 0),
        ("transactional", "all", None),
    ]
    assert (stock[2].transaction_records, stock[2].abort_every, stock[2].delivery_timeout_ms) == (20, 5, 120_000)
    assert ours[:2] == stock[:2]
    assert [(p.producer, p.acks, p.retries, p.idempotence, p.delivery_timeout_ms) for p in ours[2:]] == [
        ("quorum", "min.insync.replicas", None, True, 120_000),
        ("transactional", "min.insync.replicas", None, None, 120_000),
    ]
    assert ours[3].transaction_records == 20
    assert cycle_producers("", "t", 10, 1)[2:] == [ours[2], stock[2]]


def test_a_new_cluster_is_at_the_highest_level_of_its_distribution() -> None:
    patches = find("rackspan").patches
    assert formatted_level({}, patches) == 2
    assert formatted_level({}, [p for p in patches if p != "electable-set.patch"]) == 1
    assert formatted_level({}, []) == 0
    assert formatted_level({"rackspan.version": 1}, patches) == 1


def test_a_soak_is_continued(tmp_path: Path) -> None:
    origin = {"seed": 5}
    assert carried_on(tmp_path, origin, 7).cycles == [], "one cycle replayed, where nothing was before"
    soak = soak_of(_GOOD, _GOOD)
    soak.write(tmp_path)
    assert carried_on(tmp_path, origin, 3).plain() == soak.plain()
    assert carried_on(tmp_path, origin, 2).plain() == soak_of(_GOOD).plain(), "the second cycle once more"
    assert carried_on(tmp_path, origin, 1).cycles == []
    with pytest.raises(RackspanError) as e:
        carried_on(tmp_path, origin, 4)
    assert e.value.code == Exit.USAGE
    assert str(e.value) == (
        f"cycle 4 does not carry on the soak in {tmp_path}\n  observed: its last cycle is 2\n"
        "  do:       continue with --first 3 and the same options, or choose another folder with --out"
    )
    with pytest.raises(RackspanError, match="observed: seed 5, not 6\n"):
        carried_on(tmp_path, {"seed": 6}, 3)


def test_a_cycle_that_cannot_be_checked_is_an_error_and_not_waited_for(tmp_path: Path) -> None:
    could_not = pytest.raises(RackspanError, match="nothing could not be checked")
    with CheckerProcess(tmp_path / "check") as evaluate, could_not as caught:
        evaluate.verdict(tmp_path / "nothing")
    assert "is not a run folder" in caught.value.observed


def test_a_level_that_is_none_is_refused() -> None:
    outcome = CliRunner().invoke(app, ["soak", "--level", "3"])
    assert isinstance(outcome.exception, RackspanError)
    assert str(outcome.exception).startswith("level 3 not found") and outcome.exception.code == Exit.USAGE
