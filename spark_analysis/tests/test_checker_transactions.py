"""Transactions against what is read with read_committed: silent where they ended as read, and never by themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spark_analysis.checker.check import CheckResult, check
from spark_analysis.checker.history import read_history
from spark_analysis.checker.runner import InProcess
from spark_analysis.checker.transactions import RULES
from spark_analysis.report.durability import read_backs
from spark_analysis.tests.copies import folder, real
from spark_analysis.tests.corruptions import in_transactions
from spark_analysis.tests.generated import event


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A real cycle with transactions that were read as they ended."""
    part = real().named("orders")
    in_transactions(part)
    return folder(tmp_path / "run", [part])


def _checked(run: Path) -> CheckResult:
    return check(read_history(run), InProcess())


def _change(run: Path, name: str, **data: Any) -> None:
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["data"] |= data if line["name"] == name else {}
    (run / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_transactions_that_are_read_as_they_ended_are_no_anomaly(run: Path) -> None:
    found = _checked(run)
    assert found.counts == {} and found.unread == []
    assert [found.exposure[rule] for rule in RULES] == [5, 5, 4]
    assert not set(RULES) & set(found.untried)


def test_a_run_without_transactions_does_not_promise_anything_of_them(tmp_path: Path) -> None:
    found = _checked(folder(tmp_path / "run", [real().named("orders")]))
    assert found.state == "ok" and [found.exposure[rule] for rule in RULES] == [0, 0, 0]


@pytest.mark.parametrize("data", [{"complete": False}, {"isolation": "read_uncommitted"}, {"topic": "another"}])
def test_transactions_without_a_complete_read_with_read_committed_are_not_checked(
    run: Path, data: dict[str, Any]
) -> None:
    _change(run, "read-back", **data)
    found = _checked(run)
    assert found.counts == {} and found.state == "unknown"
    assert found.unread == ["orders with read_committed: transactions were not compared with what is read"]


def test_a_read_that_ends_before_the_logs_do_is_not_complete(run: Path) -> None:
    """As behind a transaction without an end."""
    part = real().named("orders")
    ends = {str(row["partition"]): row["end_offset"] - 1 for row in part.read}
    _change(run, "read-back", end_offsets=ends)
    assert _checked(run).unread == ["orders with read_committed: transactions were not compared with what is read"]


def test_a_producer_of_transactions_that_ended_none_makes_the_verdict_unknown(run: Path) -> None:
    _change(run, "transactions", transactions=[])
    found = _checked(run)
    assert found.counts == {} and found.state == "unknown" and found.untried == list(RULES)


def test_each_producer_of_transactions_needs_a_note_of_how_they_ended(tmp_path: Path) -> None:
    """As of a client that died before it noted them, beside one that did."""
    part = real()
    in_transactions(part)
    ended, died = part.named("orders"), part.named("rest")
    died.notes.clear()
    del died.reads[1]
    found = _checked(folder(tmp_path / "run", [ended, died]))
    assert found.counts == {} and found.state == "unknown"
    assert found.unread == ["rest/t: how its transactions ended is not noted"]


def test_a_read_back_whose_rows_are_missing_is_no_loss(run: Path) -> None:
    (run / "reads" / "part-0.parquet").unlink()
    found = _checked(run)
    assert found.counts == {} and found.state == "unknown" and len(found.unread) == 1


def test_below_level_2_a_committed_transaction_with_acks_min_insync_replicas_may_lack_records(tmp_path: Path) -> None:
    part = real().named("orders")
    in_transactions(part)
    del part.reads[2]
    part.producers[-1]["acks"] = "-2"
    run = folder(tmp_path / "run", [part])
    found = _checked(run)
    assert found.counts == {} and found.allowed == {"committed-not-read": 1, "split-transaction": 1}
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    manifest["spec"]["cluster"] = {"features": {"rackspan.version": 2}}
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert _checked(run).counts == {"committed-not-read": 1, "split-transaction": 1}


def test_reads_with_read_committed_say_nothing_of_durability_where_there_are_transactions() -> None:
    both = [event(0, "note", "read-back", topic=t, isolation="read_committed") for t in ("a", "b")]
    both.append(event(0, "note", "producer", topic="a", producer="p", transaction_records=20))
    assert list(read_backs(both)) == ["b"]
    both.append(event(1, "note", "read-back", topic="a", isolation="read_uncommitted"))
    assert list(read_backs(both)) == ["b", "a"]
