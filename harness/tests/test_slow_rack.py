"""Load of the controller while a rack slows down: what is counted, the table, and a few partitions on a cluster."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import pyarrow as pa
import pytest

from harness.benchmark.slow_rack import CHANGE, MOST_CHANGES, Load, Window, load_of, measure, summary
from harness.network.netns_support import attempt
from harness.recording.metadata_timeline import Record

S = 1_000_000_000


def _acks(rows: list[tuple[float, float, int, str]]) -> pa.Table:
    due, done, partition, result = zip(*rows, strict=True)
    columns = {"due_ns": [int(at * S) for at in due], "done_ns": [int(at * S) for at in done]}
    return pa.table(columns | {"partition": partition, "result": result})


def test_records_changes_answers_and_acknowledgements_are_counted_within_the_window() -> None:
    of = {9 * S: 0, 10 * S: 0, 11 * S: 1, 11 * S + 5: 0, 11 * S + 6: 1, 20 * S: 0}
    changes = [Record(at, CHANGE, {"partitionId": partition}) for at, partition in of.items()]
    acks = _acks([(9, 9.5, 0, "OK"), (10, 10.5, 0, "OK"), (12, 13, 1, "OK"), (12, 14, 1, "TIMEOUT"), (19, 21, 0, "OK")])
    log = [*changes, Record(12 * S, "CONFIG_RECORD", {})]
    found = load_of(Window("w", 10 * S, 20 * S), log, [(5 * S, 90.0), (10 * S, 1.0), (19 * S, 3.0)], acks, 2)
    assert asdict(found) == pytest.approx(asdict(Load("w", 0.5, 0.4, 3, 2, 2.0, 3.0, 0.2, math.inf, 9.5)))


def test_a_partition_without_any_acknowledgement_is_silent_for_all_of_the_window() -> None:
    acks = _acks([(10 + n / 10, 10 + n / 10, 0, "OK") for n in range(100)])
    assert load_of(Window("w", 10 * S, 20 * S), [], [], acks, 1).silence_s == pytest.approx(0.1)
    silent = load_of(Window("w", 10 * S, 20 * S), [], [], acks, 2)
    assert silent.silence_s == 10.0 and math.isnan(silent.answer_ms)
    late = load_of(Window("w", 10 * S, 20 * S), [], [], _acks([(19, 29, 0, "OK")]), 1)
    assert (late.p99_ms, late.acked) == (10_000.0, 0.0), "due in the window, and answered after it"


def test_a_set_that_is_changed_more_often_than_it_may_be_is_reported() -> None:
    one = Load("before", 1.0, 1.0, 12, 5, 1.0, 2.0, 6.0, 4.0, 0.5)
    assert summary([one], 3).endswith("each may be changed 5 times a second, 5 was the most: kept")
    assert summary([replace(one, most_of_one=6)], 3).endswith("6 was the most: exceeded")
    assert summary([replace(one, most_of_one=0)], 3).endswith("0 was the most: not shown, no set was changed")
    assert "| before | 1 | 1 | 12 | 5 | 1 | 2 | 6 | 4 | 0.5 |" in summary([one], 3)


@pytest.mark.cluster
@pytest.mark.variant
def test_sets_change_when_a_rack_slows_down_and_every_partition_is_acknowledged() -> None:
    if skip_reason := attempt().skip_reason:
        pytest.skip(f"this machine cannot have networks: {skip_reason}")
    before, slow, after = measure(30, 8.0)
    assert slow.changes * 8 >= 5, "sets with the slow rack's broker change to the near one's"
    assert all(one.silence_s < 8.0 and one.acked > 0 for one in (before, slow, after))
    assert slow.most_of_one <= MOST_CHANGES
