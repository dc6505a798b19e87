"""The pure parts of the services: metrics, log lines, record values."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka.record import MemoryRecordsBuilder

from harness.common.errors import RackspanError
from harness.ducktape_support.load_service import Acks
from harness.recording import payload, segments
from harness.recording.log_errors import Allowed, error_lines, summary
from harness.recording.metrics import Sampler, parse, scrape, total
from harness.run_folder.run_folder import RunFolder
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.topology import Node, plan

METRICS = """\
# TYPE kafka_cluster_Partition_UnderMinRackIsr gauge
kafka_cluster_Partition_UnderMinRackIsr{topic="t",partition="0"} 1.0
kafka_cluster_Partition_UnderMinRackIsr{topic="t",partition="1"} 1.0
kafka_cluster_Partition_UnderMinRackIsr{topic="u",partition="0"} 0.0
# TYPE kafka_network_RequestMetrics_Errors_total counter
kafka_network_RequestMetrics_Errors_total{request="Produce",error="NOT_ENOUGH_RACKS"} 20.0
"""


@pytest.fixture
def node() -> Node:
    return plan(ClusterSpec(name="x", racks={"a": 1}, controllers=1), 126).nodes[0]  # type: ignore[call-arg]


def test_metrics_are_summed_over_what_is_not_requested(node: Node) -> None:
    samples = parse(METRICS, node, 5)
    assert total(samples, "kafka_cluster_Partition_UnderMinRackIsr") == 2
    assert total(samples, "kafka_cluster_Partition_UnderMinRackIsr", topic="t", partition="1") == 1
    assert total(samples, "kafka_network_RequestMetrics_Errors_total", error="NOT_ENOUGH_RACKS") == 20
    assert total(samples, "nothing") == 0
    assert {(s.node, s.rack, s.t_ns) for s in samples} == {("a1", "a", 5)}


def test_a_silent_node_is_an_error_and_leaves_no_rows(node: Node, tmp_path: Path) -> None:
    with pytest.raises(RackspanError, match="cannot read the metrics of a1"):
        scrape(node, 0.2)
    with RunFolder.create(tmp_path, "silent") as run:
        sampler = Sampler([node], run, period=0.05)
        sampler.start()
        sampler.stop()
    assert list((run.path / "metrics").iterdir()) == []


def test_error_lines_are_found_by_level_and_allowed_by_reason() -> None:
    text = "[2026-01-01 00:00:00,000] ERROR one (x)\n[x] INFO says ERROR\n\tat ERROR\n[x] FATAL two\n[x] WARN three\n"
    assert error_lines(text) == ["[2026-01-01 00:00:00,000] ERROR one (x)", "[x] FATAL two"]
    assert error_lines(text, [Allowed("ERROR one", "the test does it")]) == ["[x] FATAL two"]
    assert summary([("a1", "one"), ("a2", "two"), ("a3", "three")], most=2) == "a1: one | a2: two (and 1 more)"


def test_an_error_is_allowed_by_the_exception_behind_it() -> None:
    allowed = [Allowed(r"ERROR request.*\n\S*\.NotControllerException", "a leader that has just been elected")]
    text = "[x] ERROR request 1\norg.x.NotControllerException: 3\n\tat y\n[x] ERROR request 2\norg.x.OtherException\n"
    assert error_lines(text, allowed) == ["[x] ERROR request 2: org.x.OtherException"]
    assert error_lines("[x] ERROR request 1\n[x] INFO a.NotControllerException", allowed) == ["[x] ERROR request 1"]


def test_a_value_says_who_wrote_it() -> None:
    assert payload.author(payload.value("producer", 7, 1)) == ("producer", 7)
    assert len(payload.value("producer", 7, 1)) == 100
    for foreign in (None, b"", b"x" * 100, payload.value("producer", 7, 1)[:20]):
        assert payload.author(foreign) == ("", -1)


def test_records_on_disk_are_read_up_to_a_torn_end() -> None:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=10_000)
    for seq in range(3):
        builder.append(timestamp=1, key=None, value=payload.value("p", seq, 1))
    builder.close()
    data = bytes(builder.buffer())
    wanted = [segments.Stored(seq, "p", seq) for seq in range(3)]
    assert segments.parse(data) == wanted
    assert segments.parse(data + data[:40]) == wanted
    assert segments.parse(b"") == []


def test_answers_are_counted_by_result_and_cause() -> None:
    rows = [{"due_ns": n, "result": r, "cause": c} for n, (r, c) in enumerate([("OK", ""), ("TIMEOUT", "X")])]
    acks = Acks(rows)
    assert acks.counts == {("OK", ""): 1, ("TIMEOUT", "X"): 1}
    assert [r["due_ns"] for r in acks.ok] == [0]
    assert acks.due(1).counts == {("TIMEOUT", "X"): 1} and len(acks.due(0, 1)) == 1
