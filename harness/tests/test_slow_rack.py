"""Load of the controller while a rack slows down: what is counted, the table, and a few partitions on a cluster."""

from __future__ import annotations

import math
from dataclasses import asdict

import pyarrow as pa
import pytest

from harness.benchmark.member_hang import CHANGE
from harness.benchmark.slow_rack import Load, Window, load_of, measure, summary
from harness.network.netns_support import attempt

S = 1_000_000_000


def _acks(rows: list[tuple[float, float, int, str]]) -> pa.Table:
    due, done, partition, result = zip(*rows, strict=True)
    columns = {"due_ns": [int(at * S) for at in due], "done_ns": [int(at * S) for at in done]}
    return pa.table(columns | {"partition": partition, "result": result})


def test_records_changes_answers_and_acknowledgements_are_counted_within_the_window() -> None:
    changes = [(9 * S, CHANGE), (10 * S, CHANGE), (11 * S, CHANGE), (11 * S + 5, CHANGE), (20 * S, CHANGE)]
    acks = _acks([(9, 9.5, 0, "OK"), (10, 10.5, 0, "OK"), (12, 13, 1, "OK"), (12, 14, 1, "TIMEOUT"), (19, 21, 0, "OK")])
    log = [*changes, (12 * S, "CONFIG_RECORD")]
    found = load_of(Window("w", 10 * S, 20 * S), log, [(5 * S, 90.0), (10 * S, 1.0), (19 * S, 3.0)], acks, 2)
    assert asdict(found) == pytest.approx(asdict(Load("w", 0.4, 0.3, 2, 2.0, 3.0, 0.2, 995.0, 9.5)))


def test_a_partition_without_any_acknowledgement_is_silent_for_all_of_the_window() -> None:
    acks = _acks([(10 + n / 10, 10 + n / 10, 0, "OK") for n in range(100)])
    assert load_of(Window("w", 10 * S, 20 * S), [], [], acks, 1).silence_s == pytest.approx(0.1)
    silent = load_of(Window("w", 10 * S, 20 * S), [], [], acks, 2)
    assert silent.silence_s == 10.0 and math.isnan(silent.answer_ms)


def test_more_changes_than_the_sets_may_make_are_reported() -> None:
    one = Load("before", 1.0, 1.0, 12, 1.0, 2.0, 6.0, 4.0, 0.5)
    assert summary([one], 3).endswith("3 partitions may make 12 changes a second, 12 were made: kept")
    assert summary([one], 2).endswith("2 partitions may make 8 changes a second, 12 were made: exceeded")
    assert "| before | 1 | 1 | 12 | 1 | 2 | 6 | 4 | 0.5 |" in summary([one], 3)


@pytest.mark.cluster
def test_sets_change_when_a_rack_slows_down_and_every_partition_is_acknowledged() -> None:
    if skip_reason := attempt().skip_reason:
        pytest.skip(f"this machine cannot have networks: {skip_reason}")
    before, slow, after = measure(30, 8.0)
    assert slow.changes * 8 >= 5, "sets with the slow rack's broker change to the near one's"
    assert all(one.silence_s < 8.0 and one.acked > 0 for one in (before, slow, after))
    assert slow.most_changes <= 30 * 4
