"""The silence while a member of the electable set hangs: what is counted, the table, and one trial on a cluster."""

from __future__ import annotations

import pytest

from harness.benchmark.member_hang import (
    MODES,
    PAUSE_S,
    QUORUM,
    Silence,
    Swap,
    Trial,
    changed_at,
    counts,
    longest_ms,
    measure,
    summary,
    swap,
)

MS = 1_000_000


def silences(quorum: list[float], full: float = 3100.0) -> list[Silence]:
    return [Silence(acks, n, ms if acks == QUORUM else full) for acks in MODES for n, ms in enumerate(quorum)]


def test_a_silence_is_counted_within_the_pause_and_up_to_its_edges() -> None:
    assert longest_ms([90 * MS, 110 * MS, 130 * MS, 190 * MS, 900 * MS], 100 * MS, 200 * MS) == 60.0
    assert longest_ms([110 * MS], 100 * MS, 200 * MS) == 90.0, "until the end"
    assert longest_ms([90 * MS, 210 * MS], 100 * MS, 200 * MS) == 100.0, "nothing was answered"


def test_a_pause_counts_unless_the_set_was_changed_just_before() -> None:
    trial = Trial(2, (1, 2), 40 * MS, 100 * MS, 900 * MS)
    assert counts(trial, [30 * MS, 170 * MS]) and counts(trial, []), "a hang that is not detected counts"
    assert not counts(trial, [39 * MS]), "times are rounded down"
    assert not counts(trial, [50 * MS, 170 * MS]), "the paused broker may have left the set"
    assert changed_at(trial, [50 * MS, 950 * MS]) is None
    assert changed_at(trial, [50 * MS, 180 * MS, 170 * MS]) == 170 * MS
    assert swap(3, trial, 170 * MS, [120 * MS, 176 * MS, 190 * MS]) == Swap(3, 70.0, 6.0)
    assert swap(3, trial, 170 * MS, [120 * MS, 950 * MS]) == Swap(3, 70.0, 730.0), "no answer in the pause"


def test_the_goal_needs_trials_enough_and_a_median_below() -> None:
    swaps = [Swap(n, 60.0, 9.0) for n in range(12)]
    table = summary(silences([180.0] * 12), swaps)
    assert "| acks=min.insync.replicas | 12 | 180 | 180 to 180 | met |" in table
    assert "| until the new set is written | 12 | 60 | 60 to 60 |" in table
    assert "| from then to the next answer | 12 | 9 | 9 to 9 |" in table
    assert "| 300 | 300 to 300 | missed |" in summary(silences([300.0] * 12), swaps)
    assert "| not enough runs |" in summary(silences([180.0] * 11), swaps[1:])
    assert "| acks=all | 12 | 3100 | 3100 to 3100 | as long as the pause |" in table
    assert "answered during the pause" in summary(silences([180.0] * 12, full=900.0), swaps)
    assert summary([], []).startswith("no trial counts")


@pytest.mark.cluster
@pytest.mark.variant
def test_the_paused_member_is_replaced_and_writes_continue_where_acks_all_waits() -> None:
    trials, found, swaps = measure(1)
    assert trials[0].member in trials[0].before, trials
    by_mode = {s.acks: s.ms for s in found}
    assert by_mode["all"] >= PAUSE_S * 1000 > by_mode[QUORUM], by_mode
    assert 0 < swaps[0].detection_ms < PAUSE_S * 1000 and swaps[0].swap_ms >= 0, swaps
