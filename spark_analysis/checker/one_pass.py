"""The steps of a check: buckets, buckets again where their neighbours matter, and records that do not match.

All large tables are read once, and a bucket's rows are evaluated together. What is read again is little: buckets at
whose border something is wrong, consumers that went back, acknowledgements of records that are somewhere else as well.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from spark_analysis.checker import (
    bucket,
    elections,
    poll_rules,
    records,
    scatter,
    shortage,
    stitch,
    timeline,
    transactions,
    watermarks,
)
from spark_analysis.checker.bucket import Carry, Summary
from spark_analysis.checker.columns import Array
from spark_analysis.checker.facts import BUCKET_BITS, Facts, Place
from spark_analysis.checker.findings import Findings
from spark_analysis.checker.history import History
from spark_analysis.checker.observed import Observed, observed_to
from spark_analysis.checker.poll_rules import Jump
from spark_analysis.checker.runner import Runner
from spark_analysis.checker.scatter import Key
from spark_analysis.checker.shortage import Unsure, Where
from spark_analysis.checker.stitch import Consumer
from spark_analysis.checker.totals import longest_silence_ms, summed
from spark_analysis.errors import ENVIRONMENT, AnalysisError

_RECORDS = 2_000_000  # that are joined in one task


@dataclass(frozen=True)
class Evaluation:
    """All anomalies of a run, its totals, the places that its clients wrote to, and how far each was observed."""

    found: Findings
    totals: dict[str, int]
    places: frozenset[Place]
    observed: Observed


# Records acknowledged with acks=min.insync.replicas, below level 2 of rackspan.version and at it.
EARLY = ("acknowledged_by_quorum", "acknowledged_by_set")


# What consumers and observers had of a topic before it was deleted is not comparable with what they have of it since.
OBSERVED = ("nonmonotonic-poll", "poll-skip", "watermark-went-back")


def evaluate(history: History, runner: Runner, min_racks: int | None = None, bits: int = BUCKET_BITS) -> Evaluation:
    """Evaluates all rules on one run. `min_racks` takes the place of the topics' own min.insync.racks."""
    facts, found = history.facts(min_racks, bits), Findings()
    summaries, left = _buckets(history, runner, facts, found)
    totals = [part for one in summaries for part in one.totals]
    places = frozenset(place for part in totals for place in part.places)
    found.merge(one.found for one in summaries)
    buckets = stitch.by_place(summaries)
    begins, states = stitch.begins(buckets), history.states
    joined = _records(history, runner, facts, left, sum(one.left for one in summaries), places)
    gone = [one.lost_by_quorum for one in joined if one.lost_by_quorum is not None]
    if twice := sum(one.twice for one in summaries) + sum(one.twice for one in joined):
        raise AnalysisError(
            f"acks of {history.path} has rows twice",
            observed=f"{twice} rows of a producer and sequence that another row has",
            do="copy the run folder again: a file of it may be there twice",
            code=ENVIRONMENT,
        )
    found.merge(one.found for one in joined)
    lossy = [name for name, settings in facts.producers.items() if settings.quorum]
    found.merge(
        [
            stitch.gaps(buckets, history.ends),
            shortage.decide(_unsure(summaries), facts),
            timeline.epochs(states),
            watermarks.went_back(history.watermarks, begins),
            watermarks.below(history.watermarks, begins, facts),
            elections.lost(gone, states, begins, history.events),
            transactions.evaluate(history.transactions, history.reads(), lossy),
        ]
    )
    for topic in history.forgotten:
        found.drop(topic, OBSERVED)
    sums = summed(totals)
    numbers = {name: sums[name] for name in ("sent", "acknowledged", "refused", "unknown", *EARLY)}
    logs = {(one.key.topic, one.key.partition, node) for one in summaries for node in one.nodes}
    numbers |= {
        "longest_silence_ms": longest_silence_ms(totals),
        "replica_records": sum(node.rows for one in summaries for node in one.nodes.values()),
        "replica_logs": len(logs),
        "polled": sum(one.polled for one in summaries),
        "watermarks": len(history.watermarks),
    }
    return Evaluation(found, numbers, places, observed_to(buckets, history.watermarks))


def _buckets(history: History, runner: Runner, facts: Facts, found: Findings) -> tuple[list[Summary], Any]:
    """The summaries of all buckets, and what is left of them; adds what consumers did across buckets."""
    tasks = history.tasks
    groups = 1 + sum(max(1, end >> facts.bits) for end in history.ends.values()) // max(1, _copies(history))
    step = partial(runner.step, tasks, groups=groups, slot=_slot)
    first, left = step(partial(scatter.to_buckets, facts=facts), partial(_evaluate, facts=facts, carries={}))
    again = _carries(history, runner, facts, stitch.by_place(first), found)
    if not again:
        return first, left
    spread = partial(scatter.to_buckets, facts=facts, wanted=frozenset(again))
    second, more = step(spread, partial(_evaluate, facts=facts, carries=again))
    totals = {one.key: one for one in first}
    kept = [one for one in first if one.key not in again]
    return kept + [replace(one, totals=totals[one.key].totals) for one in second], runner.joined(
        [runner.without(left, frozenset(again)), more]
    )


def _copies(history: History) -> int:
    return max((len(nodes) for nodes in history.read.values()), default=1)


def _evaluate(key: Key, parts: list[Any], facts: Facts, carries: dict[Key, Carry]) -> tuple[Summary, list[Any]]:
    return bucket.evaluate(key, parts, facts, carries.get(key, Carry()))


def _slot(key: Key) -> int:
    """Neighbouring buckets and partitions have different numbers."""
    return zlib.crc32(key.topic.encode()) + 17 * key.partition + key.bucket


def _carries(
    history: History, runner: Runner, facts: Facts, buckets: dict[Place, list[Summary]], found: Findings
) -> dict[Key, Carry]:
    walked = stitch.gone_back(buckets)
    jumps = _walked(history, runner, walked, found) if walked else {}
    again: dict[Key, Carry] = {}
    for place, of_place in buckets.items():
        names = frozenset(name for name, *where in walked if tuple(where) == place)
        between = [jump for jump in stitch.jumps_between(of_place) if jump.consumer not in names]
        again |= stitch.carries(of_place, facts.bits, names, [*between, *jumps.get(place, ())])
    return again


def _walked(history: History, runner: Runner, wanted: frozenset[Consumer], found: Findings) -> dict[Place, list[Jump]]:
    """Walks all polls of these consumers together; adds where they went back, and returns where they jumped."""
    tasks = [task for task in history.tasks if task.table == "polls"]
    spread = partial(scatter.by_consumer, wanted=wanted)
    done, _ = runner.step(tasks, spread, _walk, len(wanted), lambda key: zlib.crc32(repr(key).encode()))
    jumps: dict[Place, list[Jump]] = {}
    for (_, topic, partition), own, jumped in done:
        found.merge([own])
        jumps.setdefault((topic, partition), []).extend(jumped)
    return jumps


def _walk(key: Consumer, pieces: list[Any]) -> tuple[tuple[Consumer, Findings, list[Jump]], list[Any]]:
    return (key, *poll_rules.walk_all(key, pieces)), []


def _records(
    history: History, runner: Runner, facts: Facts, left: Any, size: int, places: frozenset[Place]
) -> list[records.Records]:
    """Joins what did not match; a second time where a record in the log may match at another place."""
    slots, topics = 1 + size // _RECORDS, frozenset(topic for topic, _ in places)
    spread = partial(_to_slots, slots=slots)
    step = partial(runner.step, groups=slots, slot=int)
    evaluated = partial(_evaluate_records, facts=facts, topics=topics)
    first, alone = step(left, spread, partial(evaluated, last=False))
    unknown: dict[str, list[Array]] = {}
    for one in first:
        for name, seqs in one.unknown.items():
            unknown.setdefault(name, []).append(seqs)
    if not unknown:
        return list(first)
    wanted = {name: np.unique(np.concatenate(seqs)) for name, seqs in unknown.items()}
    acks = [task for task in history.tasks if task.table == "acks"]
    find = partial(scatter.of_records, wanted=wanted, slot=partial(records.slot, slots=slots))
    _, known = step(acks, find, _kept)
    second, _ = step(runner.joined([alone, known]), spread, partial(evaluated, last=True))
    return [*first, *second]


def _to_slots(item: tuple[Any, Any], slots: int) -> Any:
    return records.to_slots(item[1], slots)


def _evaluate_records(
    key: int, pieces: list[Any], facts: Facts, topics: frozenset[str], last: bool
) -> tuple[records.Records, list[Any]]:
    return records.evaluate(pieces, facts, topics, last)


def _kept(key: int, pieces: list[Any]) -> tuple[None, list[Any]]:
    return None, [replace(one, table="found") for one in pieces]


def _unsure(summaries: Sequence[Summary]) -> dict[Where, Unsure]:
    found: dict[Where, Unsure] = {}
    for one in summaries:
        for where, left in one.unsure.items():
            found.setdefault(where, Unsure()).merge(left)
    return found
