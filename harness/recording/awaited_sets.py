"""Replicas that acks=min.insync.replicas waited for at level 2: debug lines of leaders beside the metadata log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from typing import Any

# Beside the loggers of follower fetches. Metadata may come before the controller's answer, which is ignored then.
LOGGERS = ("state.change.logger=Skipped the become",)
_LEADER = r"^(\d+) \[[^]]+\] \[Partition (\S+)-(\d+) broker=(\d+)\] "
_PROPOSED = re.compile(_LEADER + "Submitting ISR state change ")
_ACCEPTED = re.compile(_LEADER + r"ISR updated to .* and version updated to (\d+)$")
_REGISTERED = re.compile(
    r"^(\d+) \[[^]]+\] \[Broker id=(\d+)\] Skipped the become-leader state change for (\S+)-(\d+) with .*"
    r"partitionEpoch=(\d+)"
)
_PROPOSAL = -1


@dataclass(frozen=True)
class Step:
    """A leader has sent a proposal to the controller, or knows of a later partition epoch."""

    mono_ns: int
    topic: str
    partition: int
    leader: int
    epoch: int = _PROPOSAL


@dataclass(frozen=True)
class Awaited:
    """From then on a leader waits for these members, for whoever suffices if there are none; None: not known."""

    topic: str
    partition: int
    leader: int
    from_ns: int
    members: list[int] | None


def parse(lines: Iterable[str], topics: Iterable[str]) -> list[Step]:
    """The proposals in a broker's debug lines, and the partition epochs that it came to know."""
    wanted = set(topics)
    return [step for line in lines if (step := _step(line)) is not None and step.topic in wanted]


def _step(line: str) -> Step | None:
    if (match := _PROPOSED.match(line) or _ACCEPTED.match(line)) is not None:
        nanos, topic, partition, leader, *epoch = match.groups()
    elif (match := _REGISTERED.match(line)) is not None:
        nanos, leader, topic, partition, *epoch = match.groups()
    else:
        return None
    return Step(int(nanos), topic, int(partition), int(leader), *map(int, epoch))


def awaited(
    steps: Iterable[Step], sets: Mapping[tuple[str, int], Mapping[int, tuple[int, ...] | None]]
) -> list[Awaited]:
    """The replicas awaited, in order. ``sets`` has by topic and partition, then by partition epoch the set of each
    change in the metadata log, None where it stayed. A proposal is awaited beside the committed set until it is
    accepted.

    Not known is what is between epochs that no line has, and what follows a proposal that was not accepted.
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
    committed: list[int] | None = []
    epoch = since = 0
    for step, following in pairwise([*_with_news(steps), None]):
        assert step is not None
        if step.epoch == _PROPOSAL:
            proposed = _changed(committed, sets, epoch + 1) if following and following.epoch == epoch + 1 else None
            found.append(made(step.leader, step.mono_ns, _both(committed, proposed)))
            continue
        if step.epoch > epoch + 1:
            committed = None
            found[since:] = _not_known(found[since:])
        since = len(found)
        epoch, committed = step.epoch, _changed(committed, sets, step.epoch)
        found.append(made(step.leader, step.mono_ns, committed))
    if max(sets, default=epoch) > epoch:
        found[since:] = _not_known(found[since:])
    return found


def _not_known(found: list[Awaited]) -> list[Awaited]:
    return [replace(one, members=None) for one in found]


def _with_news(steps: list[Step]) -> list[Step]:
    """The steps without epochs that were known before: a leader learns each from the controller's answer and from the
    metadata.
    """
    found: list[Step] = []
    epoch = 0
    for step in steps:
        if step.epoch == _PROPOSAL or step.epoch > epoch:
            found.append(step)
            epoch = max(epoch, step.epoch)
    return found


def _changed(committed: list[int] | None, sets: Mapping[int, tuple[int, ...] | None], epoch: int) -> list[int] | None:
    """The set at a partition epoch, with the one at the epoch before."""
    members = sets.get(epoch)
    return committed if members is None else sorted(members)


def _both(committed: list[int] | None, proposed: list[int] | None) -> list[int] | None:
    """A proposal is awaited beside the committed set; without one of them only the high watermark answers."""
    if committed is None or proposed is None:
        return None
    return sorted({*committed, *proposed}) if committed and proposed else []
