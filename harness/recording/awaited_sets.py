"""Replicas that acks=min.insync.replicas waited for at level 2: debug lines of leaders beside the metadata log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from typing import Any

# Follower fetches are read from the lines of the same logger.
_LINE = re.compile(r"^(\d+) \[[^]]+\] \[Partition (\S+)-(\d+) broker=(\d+)\] (.+)$")
_PROPOSED = "Submitting ISR state change "
_ACCEPTED = re.compile(r"ISR updated to .* and version updated to (\d+)$")
_NOT_ACCEPTED = -1


@dataclass(frozen=True)
class Step:
    """A leader has sent a proposal to the controller, or the controller has accepted it: the partition epoch then."""

    mono_ns: int
    topic: str
    partition: int
    leader: int
    epoch: int = _NOT_ACCEPTED


@dataclass(frozen=True)
class Awaited:
    """From then on a leader waits for these members, for whoever suffices if there are none; None: not known."""

    topic: str
    partition: int
    leader: int
    from_ns: int
    members: list[int] | None


def parse(lines: Iterable[str], topics: Iterable[str]) -> list[Step]:
    """The proposals in a broker's debug lines, and those that were accepted."""
    wanted = set(topics)
    found = []
    for line in lines:
        if (match := _LINE.match(line)) is None or match[2] not in wanted:
            continue
        place = (int(match[1]), match[2], int(match[3]), int(match[4]))
        if match[5].startswith(_PROPOSED):
            found.append(Step(*place))
        elif (accepted := _ACCEPTED.match(match[5])) is not None:
            found.append(Step(*place, epoch=int(accepted[1])))
    return found


def awaited(
    steps: Iterable[Step], sets: Mapping[tuple[str, int], Mapping[int, tuple[int, ...] | None]]
) -> list[Awaited]:
    """The replicas awaited, in order. ``sets`` has by topic and partition, then by partition epoch the set of each
    change in the metadata log, None where it stayed. A proposal is awaited beside the committed set until it is
    accepted.

    Not known is what follows a change that its leader did not propose, and a proposal that was not accepted.
    """
    ordered = sorted(steps, key=lambda step: (step.topic, step.partition, step.mono_ns))
    grouped = groupby(ordered, key=lambda step: (step.topic, step.partition))
    return [found for place, here in grouped for found in _of_partition(list(here), sets.get(place, {}))]


def as_data(found: Iterable[Awaited]) -> list[dict[str, Any]]:
    """The entries of the note of a run."""
    return [asdict(one) for one in found]


def _of_partition(steps: list[Step], sets: Mapping[int, tuple[int, ...] | None]) -> list[Awaited]:
    made = partial(Awaited, steps[0].topic, steps[0].partition)
    found = [made(steps[0].leader, 0, [])]
    epoch, committed = 0, _members(())
    for step, answer in pairwise([*steps, None]):
        if step is None or step.epoch != _NOT_ACCEPTED:
            continue
        if answer is None or answer.epoch == _NOT_ACCEPTED or answer.leader != step.leader:
            committed = None
            found.append(made(step.leader, step.mono_ns, None))
            continue
        if answer.epoch > epoch + 1:
            committed = None
            found[-1] = replace(found[-1], members=None)
        changed = sets.get(answer.epoch)
        new = committed if changed is None else _members(changed)
        found.append(made(step.leader, step.mono_ns, _both(committed, new)))
        found.append(made(step.leader, answer.mono_ns, new))
        epoch, committed = answer.epoch, new
    if max(sets, default=epoch) > epoch:
        found[-1] = replace(found[-1], members=None)
    return found


def _members(ids: Iterable[int]) -> list[int] | None:
    return sorted(ids)


def _both(committed: list[int] | None, proposed: list[int] | None) -> list[int] | None:
    """A proposal is awaited beside the committed set; without one of them only the high watermark answers."""
    if committed is None or proposed is None:
        return None
    return _members({*committed, *proposed}) if committed and proposed else []
