"""Records acknowledged with acks=min.insync.replicas and lost: what level 1 of rackspan.version allows, and what not.

The acknowledgement says that min.insync.replicas in-sync replicas in min.insync.racks racks have the record, its leader
among them. Another in-sync replica may lack it, and may be elected; the others then cut their logs back to its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from spark_analysis.checker.columns import Piece
from spark_analysis.checker.facts import Place
from spark_analysis.checker.findings import Findings
from spark_analysis.checker.timeline import SLACK_NS, Row, need_replicas
from spark_analysis.checker.watermarks import Begins

# A leader that is paused or cut off does not hear of its successor, and its answers are under way, until some time
# after the fault: what was not delivered is sent again after pauses that grow with the outage.
AFTER_FAULT_NS = 10_000_000_000
_CUT_OFF = ("cut", "disconnected", "staggered_cut", "slowed", "delay")


def lost(
    gone: Iterable[Piece], states: dict[Place, list[Row]], begins: Begins, events: Sequence[dict[str, Any]]
) -> Findings:
    """Acknowledged by a quorum and in no log: allowed if an election explains it that could elect one without it.

    It does if the log has, where the record was, one of a later epoch than that of the leader which acknowledged it,
    and another broker has been elected in between; and if the in-sync replicas then were more than must have had it.
    """
    found, faults = Findings(), cut_off(events)
    names = ("producer", "seq", "topic", "partition", "offset", "done_ns")
    for one in gone:
        for producer, seq, topic, partition, offset, done_ns in zip(
            *(one.column(n).tolist() for n in names), strict=True
        ):
            place = (one.names["topic"][topic], partition)
            terms, log = states.get(place, []), begins.get(place, {})
            kind, text = _explained(terms, log, offset, done_ns, _since(faults, done_ns))
            _add(found, kind, place, offset, one.names["producer"][producer], seq, text)
    return found


def _add(found: Findings, kind: str, place: Place, offset: int, producer: str, seq: int, text: str) -> None:
    found.add(
        kind,
        *place,
        np.array([offset]),
        lambda _: text,
        producers=lambda _: producer,
        seqs=np.array([seq]),
        allowed=np.array([kind == "lost-to-election"]),
    )


def _explained(
    terms: Sequence[Row], log: dict[int, tuple[int, int]], offset: int, done_ns: int, since: int
) -> tuple[str, str]:
    """The kind of one loss, and the offset and epochs that it follows from."""
    led = [term for term in terms if term["leader"] >= 0]
    known = [term for term in led if term["t_ns"] <= since] or led[:1]
    answered = known[-1] if known else None
    then = _epoch_then(terms, log, offset)
    elected = answered is not None and any(
        term["leader"] != answered["leader"] and answered["leader_epoch"] < term["leader_epoch"] <= then for term in led
    )
    spare = any(_spare(term) and term["t_ns"] <= done_ns + SLACK_NS and term["until_ns"] >= since for term in terms)
    kind = "lost-without-election" if not elected else "lost-to-election" if spare else "lost-by-minimal-isr"
    epoch = answered["leader_epoch"] if answered else -1
    return kind, f"acknowledged for offset {offset} not before epoch {epoch}, the log has epoch {then} there"


def _epoch_then(terms: Sequence[Row], log: dict[int, tuple[int, int]], offset: int) -> int:
    """The leader epoch that the final log has at an offset, or that of the last leader behind its end; -1: none."""
    if log and offset < max(end for _, end in log.values()):
        return max((epoch for epoch, (begin, _) in log.items() if begin <= offset), default=-1)
    return max((term["leader_epoch"] for term in terms), default=-1)


def _spare(term: Row) -> bool:
    """True if fewer than the in-sync replicas may acknowledge."""
    one_a_rack = term["isr_racks"] == term["isr_size"] and term["isr_racks"] <= term["min_racks"]
    return term["isr_size"] > need_replicas(term) and not one_a_rack


def _since(faults: Sequence[tuple[int, int]], done_ns: int) -> int:
    """The earliest time at which the leader that acknowledged a record may last have been up to date."""
    stale = [begin - SLACK_NS for begin, end in faults if begin <= done_ns <= end + AFTER_FAULT_NS]
    return min([done_ns - SLACK_NS, *stale])


def cut_off(events: Sequence[dict[str, Any]]) -> list[tuple[int, int]]:
    """Begin and end of the faults that keep a leader from hearing of its successor and do not end it."""
    begun: dict[str, int] = {}
    found = []
    for event in (e for e in events if e["kind"] == "fault"):
        name, state = event["name"], event["state"]
        if event["data"].get("how") != "pause" and name.partition(" ")[0] not in _CUT_OFF:
            continue
        if state == "begin":
            begun[name] = event["t_ns"]
        elif state == "end" and name in begun:
            found.append((begun.pop(name), event["t_ns"]))
    return found + [(at, (1 << 62)) for at in begun.values()]
