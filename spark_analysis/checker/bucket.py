"""One bucket: all rules that go by a record's place, in one pass over its logs, acknowledgements and polls.

What a bucket cannot know of its neighbours comes as `Carry`; without it `Summary` says what they need to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from spark_analysis.checker import ack_rules, log_rules, poll_rules
from spark_analysis.checker.bucket_log import BucketLog, bucket_log
from spark_analysis.checker.columns import HIGHEST, LOWEST, Names, Piece, Rows, rows
from spark_analysis.checker.facts import Facts
from spark_analysis.checker.findings import Findings
from spark_analysis.checker.poll_rules import Jump, Walk
from spark_analysis.checker.scatter import NOWHERE, Key, split
from spark_analysis.checker.shortage import Sends, Unsure, Where, check_sends
from spark_analysis.checker.totals import Totals


@dataclass(frozen=True)
class Carry:
    """Facts from other buckets of the partition: the highest epoch in each node's log before, the largest sequence of
    each producer before, the earliest answer behind, jumps of consumers over it, and consumers that went back.
    """

    epochs: dict[str, int] = field(default_factory=dict)
    ahead: dict[str, int] = field(default_factory=dict)
    answered: int = HIGHEST
    jumps: tuple[Jump, ...] = ()
    walked: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Node:
    """One replica's log in a bucket."""

    rows: int
    first: int
    last: int
    lowest_epoch: int
    highest_epoch: int


@dataclass(frozen=True)
class Summary:
    """All that is known of a bucket once it was evaluated.

    `begins`: first and last offset of each leader epoch; `seqs`: smallest and largest sequence of each producer; `sent`
    and `answered`: the latest time of sending, and the earliest answer; `twice`: acknowledgements of a record that has
    another one here.
    """

    key: Key
    found: Findings
    totals: tuple[Totals, ...] = ()
    nodes: dict[str, Node] = field(default_factory=dict)
    begins: dict[int, tuple[int, int]] = field(default_factory=dict)
    seqs: dict[str, tuple[int, int]] = field(default_factory=dict)
    sent: int = LOWEST
    answered: int = HIGHEST
    walks: dict[str, Walk] = field(default_factory=dict)
    unsure: dict[Where, Unsure] = field(default_factory=dict)
    polled: int = 0
    left: int = 0
    twice: int = 0


def evaluate(key: Key, parts: Sequence[Piece | Totals], facts: Facts, carry: Carry) -> tuple[Summary, list[Piece]]:
    """Evaluates a bucket; returns what is left for the join by producer and sequence as well."""
    pieces = [part for part in parts if isinstance(part, Piece)]
    totals = tuple(part for part in parts if isinstance(part, Totals))
    if (key.topic, key.partition) == NOWHERE:
        return _unplaced(key, pieces, totals, facts)
    base, found, names, consumers = key.bucket << facts.bits, Findings(), Names(), Names()
    of = {table: [one for one in pieces if one.table == table] for table in ("replicas", "acks", "polls")}
    width = 1 + max((int(one.column("offset").max()) for one in pieces), default=-1)
    expected = facts.expected.get((key.topic, key.partition), ())
    log = bucket_log(of["replicas"], width, expected, names)
    acks = rows(of["acks"], ack_rules.TYPES, {"producer": names})
    polls = rows(of["polls"], poll_rules.TYPES, {"producer": names, "consumer": consumers})

    log_rules.divergent(log, key, base, found)
    log_rules.each_log(log, key, base, carry.epochs, found)
    log_rules.unknown_epochs(log, key, base, facts, found)

    matched = ack_rules.match(acks, log)
    wrong, known = log.wrong_values(facts)
    sent, answered = ack_rules.realtime(matched, log, key, base, carry.answered, found)
    ack_rules.corrupt(matched, log, wrong, known, key, base, found)
    unsure = ack_rules.short(matched, log, key, base, facts, found)
    late, seqs = ack_rules.late(log, carry.ahead)
    left = ack_rules.unmatched(matched, log, late, wrong, key, base)
    _expose(log, matched, facts, key, found)

    ways, jumps = poll_rules.walks(polls, base, carry.walked, key, found)
    poll_rules.skipped([*jumps, *carry.jumps], log, key, base, found)
    poll_rules.vanished(polls, log, key, base, facts, found)
    summary = Summary(
        key,
        found,
        totals,
        {node: _node(rows_, base) for node, rows_ in log.nodes.items()},
        _begins(log, base),
        seqs,
        sent,
        answered,
        ways,
        unsure,
        polls.size,
        sum(one.rows for one in left),
        int(matched.right.sum() - matched.answered.sum()),
    )
    return summary, left


def _expose(log: BucketLog, matched: ack_rules.Matched, facts: Facts, key: Key, found: Findings) -> None:
    """Counts what the rules on records could evaluate here; what is left is counted where it is joined."""
    records = log.records
    found.exposure["phantom"] += int(matched.answered.sum())
    found.exposure["duplicate"] += int(matched.answered.sum())
    found.exposure["nonmonotonic-send"] += int((records["seq"] >= 0).sum())
    answered = matched.acks.only(matched.right)
    found.exposure["inconsistent-offsets"] += answered.size
    if facts.is_complete((key.topic, key.partition)):
        quorum = (
            facts.settings(log.producers.all)["quorum"][answered["producer"]] if answered.size else np.zeros(0, bool)
        )
        found.exposure["lost-write"] += int((~quorum).sum())
        found.exposure["lost-to-election"] += int(quorum.sum())


def _node(log: Rows, base: int) -> Node:
    offsets, epochs = log["offset"], log["leader_epoch"]
    return Node(log.size, base + int(offsets[0]), base + int(offsets[-1]), int(epochs.min()), int(epochs.max()))


def _begins(log: BucketLog, base: int) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for rows_ in log.nodes.values():
        cuts = np.flatnonzero(np.diff(rows_["leader_epoch"])) + 1
        for first, last in zip(np.r_[0, cuts].tolist(), np.r_[cuts, rows_.size].tolist(), strict=True):
            epoch, begin, end = (
                int(rows_[name][at]) for name, at in (("leader_epoch", first), ("offset", first), ("offset", last - 1))
            )
            known = found.get(epoch, (base + begin, base + end))
            found[epoch] = (min(known[0], base + begin), max(known[1], base + end))
    return found


def _unplaced(
    key: Key, pieces: Sequence[Piece], totals: tuple[Totals, ...], facts: Facts
) -> tuple[Summary, list[Piece]]:
    """Records without an offset: refused, or without an answer."""
    found = Findings()
    unsure: dict[Where, Unsure] = {}
    for one in pieces:
        names = {name: Names(one.names[name]) for name in ("producer", "topic", "result")}
        types = ack_rules.TYPES | {"offset": "int64", "topic": "int32", "partition": "int32", "result": "int32"}
        acks = rows([one], types, names)
        for (topic, partition), at in split([acks["topic"], acks["partition"]]):
            mine = acks.only(np.arange(acks.size)[at])
            sends = Sends(mine, mine["sent_ns"], np.full(mine.size, -1), mine["offset"], acks.names["result"])
            more = check_sends(sends, (acks.names["topic"][topic], partition), facts, found)
            for where, left in more.items():
                unsure.setdefault(where, Unsure()).merge(left)
    return Summary(key, found, totals, unsure=unsure, left=sum(one.rows for one in pieces)), list(pieces)
