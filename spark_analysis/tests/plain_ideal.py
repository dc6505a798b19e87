"""Records beside their ideal quorum in plain Python: what transforms/oracle.py does by Spark."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from spark_analysis.report.promises import EARLY, has_set, required, waits
from spark_analysis.statistics.ideal import AFTER, FROM_SEND, IDEAL

Row = dict[str, Any]
# Leader, follower, and when the follower's fetch showed that it holds the record.
Known = tuple[int, int, int]
_LATER_NS = 100_000_000


class Fetches:
    """When each follower of a partition held which records."""

    def __init__(self, rows: Iterable[Row]) -> None:
        pairs: dict[tuple[str, int], dict[tuple[int, int], list[tuple[int, int]]]] = {}
        for r in rows:
            of_place = pairs.setdefault((r["topic"], r["partition"]), {})
            of_place.setdefault((r["leader"], r["follower"]), []).append((r["leo"], r["mono_ns"]))
        self._pairs = {place: {pair: _first_beyond(of) for pair, of in each.items()} for place, each in pairs.items()}

    def known(self, row: Row) -> list[Known]:
        """Of every follower that had the record."""
        found = []
        for (leader, follower), (ends, firsts) in self._pairs.get((row["topic"], row["partition"]), {}).items():
            at = bisect_left(ends, row["offset"] + 1)
            if at < len(ends):
                found.append((leader, follower, firsts[at]))
        return found


def _first_beyond(fetches: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The offsets fetched, ascending, and the first time of a fetch of each or of a higher one."""
    fetches.sort()
    firsts, first = [], fetches[-1][1]
    for _, at_ns in reversed(fetches):
        first = min(first, at_ns)
        firsts.append(first)
    return [end for end, _ in fetches], firsts[::-1]


def counted(inside: Iterable[tuple[Row, Row]], fetches: Iterable[Row], spec: Row, events: Sequence[Row]) -> list[Row]:
    """Counts of acknowledged records of blocks by measure and value; ``inside`` are pairs of a block and a record."""
    workload, known = spec["workload"], Fetches(fetches)
    modes = {mode["role"]: mode for mode in workload["modes"] if waits(mode["acks"])}
    racks = {int(broker): rack for broker, rack in spec["broker_racks"].items()}
    sets = _sets(events)
    found: Counter[tuple[int, str, str, int]] = Counter()
    for block, row in inside:
        held = known.known(row)
        if block["part"] != "quiet" or row["result"] != "OK" or block["role"] not in modes or not held:
            continue
        mode = modes[block["role"]]
        ideal_ns: int | None
        if mode["acks"] not in EARLY:
            followers = workload["topic"]["replication"] - 1
            ideal_ns = max(at for _, _, at in held) if len(held) == followers else None
        else:
            ideal_ns = _quorum(held, racks, required({**workload["topic"]["settings"], **mode["topic"]}))
            if has_set(mode):
                ideal_ns = _set_ns(row, held, ideal_ns, sets)
        if ideal_ns is not None:
            ideal_ns -= _mono(row, "sent_ns")
            took = row["done_ns"] - row["sent_ns"]
            for measure, ns in ((IDEAL, ideal_ns), (FROM_SEND, took), (AFTER, took - ideal_ns)):
                found[block["block"], block["part"], measure, ns // 1000] += 1
    names = ("block", "part", "measure", "value")
    return [dict(zip(names, key, strict=True)) | {"records": n} for key, n in found.items()]


def _mono(row: Row, name: str) -> int:
    return int(row[name] - row["due_ns"] + row["due_mono_ns"])


def _quorum(held: list[Known], racks: dict[int, str], needed: tuple[int, int]) -> int | None:
    """When so many replicas in so many racks had the record, the leader among them."""
    replicas, spanning = needed
    first: dict[str, int] = {}
    for leader, follower, at in held:
        if racks[follower] != racks[leader]:
            first[racks[follower]] = min(at, first.get(racks[follower], at))
    enough = [0, *sorted(at for _, _, at in held)][max(replicas - 1, 0) :][:1]
    in_racks = [0, *sorted(first.values())][max(spanning - 1, 0) :][:1]
    return max(enough + in_racks) if enough and in_racks else None


def _sets(events: Sequence[Row]) -> list[tuple[Row, int]]:
    """The sets that were noted, in order, each with its end."""
    noted = [one for e in events if (e["kind"], e["name"]) == ("note", "awaited-sets") for one in e["data"]["sets"]]

    def place(noted: Row) -> tuple[Any, Any]:
        return noted.get("topic"), noted.get("partition")

    return [(now, then["from_ns"] if place(now) == place(then) else 2**62) for now, then in pairwise([*noted, {}])]


def _set_ns(row: Row, held: list[Known], quorum: int | None, sets: list[tuple[Row, int]]) -> int | None:
    """When the set that was waited for had the record; None if that is not known."""
    leader = max(leader for leader, _, _ in held)
    first: dict[int, int] = {}
    for _, follower, at in held:
        first[follower] = min(at, first.get(follower, at))
    certain, unknown = [], []
    for noted, until_ns in sets:
        if (noted["topic"], noted["partition"]) != (row["topic"], row["partition"]):
            continue
        if until_ns <= _mono(row, "sent_ns") or noted["from_ns"] >= _mono(row, "done_ns") + _LATER_NS:
            continue
        if noted["members"] is None or noted["leader"] != leader:
            unknown.append(noted["from_ns"])
            continue
        others = [first.get(member) for member in noted["members"] if member != leader]
        held_ns = quorum
        if noted["members"]:
            held_ns = None if None in others else max((at for at in others if at), default=0)
        if held_ns is not None and max(held_ns, noted["from_ns"]) < until_ns:
            certain.append(max(held_ns, noted["from_ns"]))
    return min(certain) if certain and (not unknown or min(certain) < min(unknown)) else None
