"""Replicas that acks=min.insync.replicas waited for, from made-up debug lines; test_bench.py reads those of leaders."""

from __future__ import annotations

import pytest

from harness.recording.awaited_sets import Step, as_data, awaited, parse

Sets = dict[int, tuple[int, ...] | None]


def test_proposals_and_what_was_accepted_are_read_from_a_leaders_lines() -> None:
    registered = (
        "[Broker id=2] Skipped the become-leader state change for {}-0 with topic id Some(x), partition registration "
        "PartitionRegistration(replicas=[2, 3], leaderEpoch=4, partitionEpoch=9) and isNew=false since it is already "
        "the leader with leader epoch 4."
    )
    lines = [
        "100 [handler-1] [Partition all-0 broker=2] Submitting ISR state change PendingNote[sentLeaderAndIsr=...]",
        "105 [handler-1] [Partition other-0 broker=2] Submitting ISR state change PendingNote[sentLeaderAndIsr=...]",
        "110 [manager-1] [Partition all-0 broker=2] ISR updated to 2,3,1  and version updated to 7",
        "115 [handler-1] [Partition all-0 broker=2] Recorded replica 3 log end offset (LEO) position 9 and log start",
        "120 [manager-1] [Partition all-0 broker=2] ISR updated to 2 (under-min-isr) and version updated to 8",
        f"130 [publisher] {registered.format('all')}",
        f"135 [publisher] {registered.format('other')}",
        "140 [manager-1] [Partition all-0 brok",
    ]
    found = [(100, -1), (110, 7), (120, 8), (130, 9)]
    assert parse(lines, ["all"]) == [Step(at, "all", 0, 2, epoch) for at, epoch in found]


@pytest.mark.parametrize(
    ("steps", "sets", "found"),
    [
        # a proposal is awaited beside the committed set until it is accepted; without a set the first one is not
        (
            [(10, -1), (12, 1), (20, -1), (25, 2)],
            {1: (1, 2), 2: (1, 3)},
            [(0, []), (10, []), (12, [1, 2]), (20, [1, 2, 3]), (25, [1, 3])],
        ),
        # a set is given up: only the high watermark answers
        (
            [(10, -1), (12, 1), (20, -1), (25, 2)],
            {1: (1, 2), 2: ()},
            [(0, []), (10, []), (12, [1, 2]), (20, []), (25, [])],
        ),
        # a proposal that leaves the set as it is
        (
            [(10, -1), (12, 1), (20, -1), (25, 2)],
            {1: (1, 2), 2: None},
            [(0, []), (10, []), (12, [1, 2]), (20, [1, 2]), (25, [1, 2])],
        ),
        # one that is not accepted: not known, until the next one, which finds the set as it was
        (
            [(10, -1), (12, 1), (20, -1), (30, -1), (35, 2)],
            {1: (1, 2), 2: (1, 3)},
            [(0, []), (10, []), (12, [1, 2]), (20, None), (30, [1, 2, 3]), (35, [1, 3])],
        ),
        # a change between, which the leader did not propose: not known since the one before
        (
            [(10, -1), (12, 1), (20, -1), (25, 3)],
            {1: (1, 2), 2: (2,), 3: (1, 3)},
            [(0, []), (10, []), (12, None), (20, None), (25, [1, 3])],
        ),
        # one that the leader reads in the metadata, without a proposal
        (
            [(10, -1), (12, 1), (15, 2), (20, -1), (25, 3)],
            {1: (1, 2), 2: (2,), 3: (1, 3)},
            [(0, []), (10, []), (12, [1, 2]), (15, [2]), (20, [1, 2, 3]), (25, [1, 3])],
        ),
        # metadata behind the answer, which says the same
        ([(10, -1), (12, 1), (15, 1)], {1: (1, 2)}, [(0, []), (10, []), (12, [1, 2])]),
        (
            [(10, -1), (12, 1), (14, -1), (15, 1), (16, 2)],
            {1: (1,), 2: (2,)},
            [(0, []), (10, []), (12, [1]), (14, [1, 2]), (16, [2])],
        ),
        # a change of which the leader has no line, behind the last one
        ([(10, -1), (12, 1)], {1: (1, 2), 2: (2,)}, [(0, []), (10, []), (12, None)]),
        # lines that begin later than the partition
        ([(10, -1), (12, 5)], {5: (1, 2)}, [(0, None), (10, None), (12, [1, 2])]),
    ],
)
def test_what_is_awaited_at_a_time(
    steps: list[tuple[int, int]], sets: Sets, found: list[tuple[int, list[int]]]
) -> None:
    made = awaited([Step(at, "all", 0, 2, epoch) for at, epoch in steps], {("all", 0): sets})
    assert [(one.from_ns, one.members) for one in made] == found
    assert {(one.topic, one.partition, one.leader) for one in made} == {("all", 0, 2)}


def test_a_new_leader_waits_for_what_is_not_known_until_it_has_proposed_a_set() -> None:
    steps = [Step(10, "all", 0, 2), Step(12, "all", 0, 2, 1), Step(30, "all", 0, 3), Step(33, "all", 0, 3, 3)]
    made = awaited(steps, {("all", 0): {1: (1, 2), 2: None, 3: (1, 3)}})
    assert [(one.leader, one.from_ns, one.members) for one in made] == [
        *[(2, 0, []), (2, 10, []), (2, 12, None)],
        *[(3, 30, None), (3, 33, [1, 3])],
    ]


def test_partitions_are_apart_and_each_in_order() -> None:
    steps = [Step(12, "all", 1, 3, 1), Step(11, "all", 0, 2), Step(10, "all", 1, 3), Step(13, "all", 0, 2, 1)]
    made = as_data(awaited(steps, {("all", 0): {1: (2,)}, ("all", 1): {1: (3,)}}))
    assert [(one["partition"], one["from_ns"], one["members"]) for one in made] == [
        *[(0, 0, []), (0, 11, []), (0, 13, [2])],
        *[(1, 0, []), (1, 10, []), (1, 12, [3])],
    ]
