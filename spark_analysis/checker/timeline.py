"""Rules on acknowledgements and epochs: the metadata log has the leaders and in-sync replicas of every moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from spark_analysis.checker.facts import Place, Stretch
from spark_analysis.checker.findings import Findings

Row = dict[str, Any]
# A leader receives a change of another's making some time after the controller has written it, and until then may
# rightly count a replica that just left; on a machine that stalls, that is seconds.
SLACK_NS = 3_000_000_000
# The client's clock and the controller's, where they are two machines'.
CLOCK_NS = 20_000_000
NEVER = 1 << 62


def by_place(rows: Iterable[Row]) -> dict[Place, list[Row]]:
    """The states of each partition in order, each with the time until which it was in force.

    Those of a topic that was deleted and created again are the ones since then.
    """
    found: dict[Place, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["metadata_offset"]):
        states = found.setdefault((row["topic"], row["partition"]), [])
        if states and _is_first(row) and not _is_first(states[-1]):
            states.clear()
        if states:
            states[-1]["until_ns"] = row["t_ns"]
        states.append(row | {"until_ns": NEVER})
    return found


def _is_first(row: Row) -> bool:
    """True for the state in which a partition is created: both epochs only grow from there."""
    return bool(row["leader_epoch"] == row["partition_epoch"] == 0)


def recreated(rows: Iterable[Row], states: dict[Place, list[Row]]) -> dict[str, int]:
    """When each topic was created again that has older rows than its states."""
    begins = {place: of_place[0] for place, of_place in states.items()}
    found: dict[str, int] = {}
    for row in rows:
        begin = begins[row["topic"], row["partition"]]
        if row["metadata_offset"] < begin["metadata_offset"]:
            found[row["topic"]] = max(begin["t_ns"], found.get(row["topic"], 0))
    return found


def too_few_racks(states: Sequence[Row], min_racks: int | None) -> tuple[Stretch, ...]:
    """The stretches in which the in-sync replicas spanned fewer racks than required (or than `min_racks`)."""
    return _stretches(states, [row["isr_racks"] < (min_racks or row["min_racks"]) for row in states])


def too_few_replicas(states: Sequence[Row]) -> tuple[Stretch, ...]:
    """The stretches with fewer in-sync replicas than required."""
    return _stretches(states, [row["isr_size"] < need_replicas(row) for row in states])


def below_promise(states: Sequence[Row], degrades: Sequence[Row]) -> tuple[Stretch, ...]:
    """The stretches in which the in-sync replicas spanned fewer racks than were required before a degrade.

    `degrades`: those of the topic, each with `promised` racks, `begin_ns` and `end_ns` by the metadata log.
    """

    def promised(row: Row) -> int:
        return max((d["promised"] for d in degrades if d["begin_ns"] <= row["t_ns"] < d["end_ns"]), default=0)

    return _stretches(states, [row["isr_racks"] < promised(row) for row in states])


def need_replicas(row: Row) -> int:
    """Number of in-sync replicas that a state requires."""
    return int(min(row["min_replicas"], row["replicas"]))


def _stretches(states: Sequence[Row], short: Sequence[bool]) -> tuple[Stretch, ...]:
    """Neighbouring short states are one stretch: an operation across their border counts."""
    found = []
    for is_short, run in groupby(range(len(states)), key=lambda at: short[at]):
        at = list(run)
        if is_short:
            found.append(_stretch(states, at))
    return tuple(found)


def _stretch(states: Sequence[Row], at: Sequence[int]) -> Stretch:
    begin = states[at[0]]["t_ns"]
    # Only a leader adds to its in-sync replicas, and it has to name the state before: so it knew that one by then.
    grown = [states[i]["t_ns"] for i in at[1:] if _added_by_leader(states[i - 1], states[i])]
    began = [
        states[i]["leader_epoch"] for i in at if i == 0 or states[i]["leader_epoch"] > states[i - 1]["leader_epoch"]
    ]
    last = states[at[-1]]
    return Stretch(begin, last["until_ns"], min([begin + SLACK_NS, *grown]), min(began, default=NEVER), last["isr"])


def _added_by_leader(before: Row, after: Row) -> bool:
    old, new = set(before["isr"].split(",")), set(after["isr"].split(","))
    return bool(before["leader_epoch"] == after["leader_epoch"] and new > old)


def epochs(states: dict[Place, list[Row]]) -> Findings:
    """A leader epoch in the metadata log that is smaller than one before it."""
    found = Findings()
    for (topic, partition), rows in states.items():
        highest = -1
        for row in rows:
            epoch, at = row["leader_epoch"], row["metadata_offset"]
            if epoch < highest:
                text = f"epoch {epoch} behind {highest} at offset {at} of the metadata log"
                _add_placeless(found, "epoch-went-back", topic, partition, text)
            highest = max(highest, epoch)
    return found


def _add_placeless(found: Findings, kind: str, topic: str, partition: int, text: str) -> None:
    found.add(kind, topic, partition, np.array([-1]), lambda _: text)
