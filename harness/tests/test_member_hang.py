"""The silence while a member of the electable set hangs: what is counted, the table, and one trial on a cluster."""

from __future__ import annotations

import pytest

from harness.benchmark.member_hang import MODES, PAUSE_S, QUORUM, Silence, electable, longest_ms, measure, summary


def silences(quorum: list[float], full: float = 3100.0) -> list[Silence]:
    return [Silence(acks, n, ms if acks == QUORUM else full) for acks in MODES for n, ms in enumerate(quorum)]


def test_a_silence_is_counted_within_the_pause_and_up_to_its_edges() -> None:
    ms = 1_000_000
    assert longest_ms([90 * ms, 110 * ms, 130 * ms, 190 * ms, 900 * ms], 100 * ms, 200 * ms) == 60.0
    assert longest_ms([110 * ms], 100 * ms, 200 * ms) == 90.0, "until the end"
    assert longest_ms([90 * ms, 210 * ms], 100 * ms, 200 * ms) == 100.0, "nothing was answered"


def test_the_set_is_read_from_the_description_of_a_topic() -> None:
    line = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tElectable: 1,3\tLastKnownElr: \n"
    assert electable(line) == (1, 3)
    assert electable(line.replace("Electable: 1,3", "Electable: ")) == ()
    assert electable("Topic: t") == ()


def test_the_goal_needs_trials_enough_and_a_median_below() -> None:
    assert "| acks=min.insync.replicas | 12 | 180 | 180 to 180 | met |" in summary(silences([180.0] * 12))
    assert "| 300 | 300 to 300 | missed |" in summary(silences([300.0] * 12))
    assert "| not enough runs |" in summary(silences([180.0] * 11))
    assert "| acks=all | 12 | 3100 | 3100 to 3100 | as long as the pause |" in summary(silences([180.0] * 12))
    assert "answered during the pause" in summary(silences([180.0] * 12, full=900.0))


@pytest.mark.cluster
def test_the_paused_member_is_replaced_and_writes_continue_where_acks_all_waits() -> None:
    trials, found = measure(1)
    assert trials[0].member in trials[0].before, trials
    by_mode = {s.acks: s.ms for s in found}
    assert by_mode["all"] >= PAUSE_S * 1000 > by_mode[QUORUM], by_mode
