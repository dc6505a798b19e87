"""The checker with one rule broken, one after another: each time a corruption that was found no longer is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from spark_analysis.checker import (
    ack_rules,
    bucket_log,
    elections,
    expected_values,
    log_rules,
    poll_rules,
    records,
    shortage,
    stitch,
    timeline,
    transactions,
    watermarks,
)
from spark_analysis.checker.columns import HIGHEST, LOWEST
from spark_analysis.checker.findings import Findings
from spark_analysis.errors import AnalysisError
from spark_analysis.tests.copies import Small, evaluated, folder, real
from spark_analysis.tests.corruptions import CORRUPTIONS
from spark_analysis.tests.quorum_histories import ANOMALIES, stories

Break = Callable[[Any], Any]  # of what is replaced, what is in its place


def _nothing(_: Any) -> Any:
    return lambda *_, **__: None


def _no_findings(_: Any) -> Any:
    return lambda *_, **__: Findings()


def _no_jumps(_: Any) -> Any:
    return lambda *_, **__: []


def _no_stretches(_: Any) -> Any:
    return lambda *_, **__: ()


def _at_rest(_: Any) -> Any:
    return lambda *_, **__: (LOWEST, HIGHEST)


def _never_late(original: Any) -> Any:
    def late(log: Any, ahead: Any) -> Any:
        rows, seqs = original(log, ahead)
        return rows.only(np.zeros(rows.size, bool)), seqs

    return late


def _always_explained(original: Any) -> Any:
    return lambda *given: ("lost-to-election", original(*given)[1])


def _first_values_as_written(original: Any) -> Any:
    return lambda name, size, seqs, due: original(name, size, seqs, due) ^ np.uint32(1)


def _slow_leaders(original: Any) -> Any:
    """Leaders that may take as long as they like to hear of a change: how it was before evidence counted."""
    return lambda states, at: replace(original(states, at), sure_ns=timeline.NEVER, epoch=timeline.NEVER)


def _only_after_seconds(original: Any) -> Any:
    def stretch(states: Any, at: Any) -> Any:
        found = original(states, at)
        return replace(found, sure_ns=found.begin_ns + timeline.SLACK_NS)

    return stretch


def _no_epochs(original: Any) -> Any:
    return lambda states, at: replace(original(states, at), epoch=timeline.NEVER)


def _anything_right(original: Any) -> Any:
    def match(acks: Any, log: Any) -> Any:
        found = original(acks, log)
        right = log.has[acks["offset"]]
        found.answered[acks["offset"][right]] = True
        return replace(found, right=right, here=right)

    return match


def _as_committed(original: Any) -> Any:
    """Nothing of the transactions whose end is not known."""
    return lambda one, *given: one["outcome"] == "UNKNOWN" or original(one, *given)


def _first_copy_counts(original: Any) -> Any:
    def lay(log: Any, by_offset: Any, copies: Any, differs: Any) -> None:
        original(log, by_offset, copies, np.zeros_like(differs))

    return lay


MUTANTS: dict[str, tuple[ModuleType, str, Break, str]] = {
    "replicas are not compared": (log_rules, "divergent", _nothing, "divergent-replicas"),
    "only the first copy counts": (bucket_log, "_lay", _first_copy_counts, "divergent-replicas"),
    "offsets may be there twice": (log_rules, "clashing", _nothing, "offset-clash"),
    "logs may have gaps": (log_rules, "gaps", _nothing, "offset-gap"),
    "epochs of a log may fall": (log_rules, "epochs", _nothing, "epoch-went-back"),
    "epochs of the metadata log may fall": (timeline, "epochs", _no_findings, "epoch-went-back"),
    "epochs may come from nowhere": (log_rules, "unknown_epochs", _nothing, "unknown-epoch"),
    "any record is the right one": (ack_rules, "match", _anything_right, "lost-write"),
    "the order in time is not looked at": (ack_rules, "realtime", _at_rest, "realtime-order"),
    "values are not compared": (ack_rules, "corrupt", _nothing, "corrupt-value"),
    "values of moved records are not compared": (records, "_corrupt", _nothing, "corrupt-value"),
    "any checksum is wrong": (expected_values, "crcs", _first_values_as_written, "corrupt-value"),
    "nothing comes late": (ack_rules, "late", _never_late, "nonmonotonic-send"),
    "what comes late is allowed": (records, "_reordered", _nothing, "nonmonotonic-send"),
    "nothing is lost": (records, "_lost", _nothing, "lost-write"),
    "refused records may be there": (records, "_aborted", _nothing, "aborted-write"),
    "records may be elsewhere": (records, "_moved", _nothing, "inconsistent-offsets"),
    "records may be there twice": (records, "_duplicated", _nothing, "duplicate"),
    "records may come from nowhere": (records, "_phantom", _nothing, "phantom"),
    "racks do not count": (timeline, "too_few_racks", _no_stretches, "ack-under-racks"),
    "replicas do not count": (timeline, "too_few_replicas", _no_stretches, "ack-under-replicas"),
    "degrades do not count": (timeline, "below_promise", _no_stretches, "ack-not-in-ledger"),
    "a leader need not know": (timeline, "_stretch", _slow_leaders, "ack-under-racks"),
    "a new leader need not know": (timeline, "_stretch", _no_epochs, "ack-under-racks"),
    "adding a replica shows nothing": (timeline, "_stretch", _only_after_seconds, "ack-under-racks"),
    "a refusal shows nothing": (shortage, "decide", _no_findings, "ack-under-racks"),
    "consumers may go back": (poll_rules, "walk", _no_jumps, "nonmonotonic-poll"),
    "consumers may skip": (poll_rules, "_skipped", _nothing, "poll-skip"),
    "what was read may vanish": (poll_rules, "vanished", _nothing, "vanished-read"),
    "watermarks may fall": (watermarks, "went_back", _no_findings, "watermark-went-back"),
    "watermarks bind nobody": (watermarks, "below", _no_findings, "lost-below-watermark"),
    "committed records may be missing": (transactions, "_compare", _nothing, "committed-not-read"),
    "aborted records may be read": (transactions, "ABORTED", lambda _: "NONE", "aborted-read"),
    "transactions may be split": (transactions, "_compare", _as_committed, "split-transaction"),
    "every loss follows from an election": (elections, "_explained", _always_explained, "lost-without-election"),
    "the smallest set may lose": (elections, "_explained", _always_explained, "lost-by-minimal-isr"),
}


def _names(kind: str) -> list[str]:
    """All made-up histories that have this anomaly."""
    corrupted = [name for name, (kinds, _) in CORRUPTIONS.items() if kind in kinds]
    return corrupted + [name for name, (brought, _) in ANOMALIES.items() if brought == kind]


def _part(name: str) -> Small:
    if name not in CORRUPTIONS:
        return stories()[name]
    part = real().named(name)
    CORRUPTIONS[name][1](part, random.Random(1))
    return part


@pytest.fixture(scope="module")
def with_anomaly(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A run folder of the histories with an anomaly, made once for each kind."""
    made: dict[str, Path] = {}

    def of(kind: str) -> Path:
        if kind not in made:
            made[kind] = folder(tmp_path_factory.mktemp(kind) / "run", map(_part, _names(kind)))
        return made[kind]

    return of


def _missed(path: Path, kind: str) -> set[str]:
    """The histories in which the anomaly is not found."""
    found, _ = evaluated(path)
    return set(_names(kind)) - {topic for topic, kinds in found.items() if kind in kinds}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_rule_is_noticed(
    name: str, with_anomaly: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, function, broken, kind = MUTANTS[name]
    path = with_anomaly(kind)
    assert not _missed(path, kind)
    monkeypatch.setattr(module, function, broken(getattr(module, function)))
    if name == "any checksum is wrong":  # such a checker would find too much
        assert sum(evaluated(path)[0].get("other_checksum_everywhere", {}).values()) > 1
    elif name == "any record is the right one":  # such a checker takes rows for the same, and refuses the run
        with pytest.raises(AnalysisError, match="rows twice"):
            evaluated(path)
    else:
        assert _missed(path, kind)


def _without(**of_others: Any) -> Break:
    """A carry without these facts of other buckets."""
    return lambda original: lambda *given: {key: replace(c, **of_others) for key, c in original(*given).items()}


BORDERS: dict[str, tuple[str, Break, str]] = {  # function of stitch, what is in its place, corruption
    "gaps at borders are not looked at": ("gaps", _no_findings, "dropped"),
    "sequences of other buckets are unknown": ("carries", _without(ahead={}), "swap_of_one_producer"),
    "answers in other buckets are unknown": ("carries", _without(answered=HIGHEST), "order_against_time"),
    "epochs of other buckets are unknown": ("carries", _without(epochs={}), "epoch_falls_in_the_logs"),
    "consumers that go back are not walked": (
        "gone_back",
        lambda _: lambda *_: frozenset(),
        "consumer_is_given_two_in_wrong_order",
    ),
    "steps from bucket to bucket are not looked at": ("jumps_between", _no_jumps, "consumer_skips"),
}


@pytest.mark.parametrize("name", BORDERS)
def test_a_broken_border_is_noticed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function, broken, corruption = BORDERS[name]
    path = folder(tmp_path / "run", [_part(corruption)])
    found = evaluated(path)[0]
    assert found and evaluated(path, bits=0)[0] == found
    monkeypatch.setattr(stitch, function, broken(getattr(stitch, function)))
    assert evaluated(path, bits=0)[0] != found
