"""Folders that do not fit are named with what was observed and what to do; the others are still read."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_analysis.errors import ENVIRONMENT, AnalysisError
from spark_analysis.input import ingest
from spark_analysis.input.folders import read_folder, read_folders
from spark_analysis.tests.generated import MS, SECOND, START, ack, event, folder, read


def message(spark: SparkSession, path: Path) -> str:
    with pytest.raises(AnalysisError) as caught:
        ingest.read_run(spark, path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_folder_is_read_with_its_run_id(spark: SparkSession, tmp_path: Path) -> None:
    run = ingest.read_run(spark, folder(tmp_path / "x", acks=[ack(0, 0, MS)], events=[event(1, "note", "hello")]))
    assert (run.id, run.events[0]["name"], run.reads.count()) == ("x", "hello", 0)
    assert [(r["run"], r["seq"]) for r in run.acks.collect()] == [("x", 0)]


def test_a_missing_folder_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    text = message(spark, tmp_path / "nowhere")
    assert (
        "is not a run folder" in text and "observed: manifest.json: " in text and "give a folder made by a run" in text
    )


def test_another_schema_version_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    text = message(spark, folder(tmp_path / "x", schema_version=99))
    assert "observed: schema version 99, wanted 4" in text and "read it with the release that made it" in text


def test_events_of_schema_version_2_get_their_present_names(tmp_path: Path) -> None:
    link = {"racks": "a-b", "asked_ms": 2.0}
    older = [
        event(0, "phase", "block", "end", block=0, void=["busy"]),
        event(1, "fault", "unplugged a1", "begin", nodes=["a1"], asked=["controller"]),
        event(2, "note", "links", "point", links=[link]),
        event(3, "note", "unplugged", "point"),
    ]
    events = read_folder(folder(tmp_path / "x", schema_version=2, events=older)).events
    assert [e["name"] for e in events] == ["block", "disconnected a1", "links", "unplugged"]
    assert events[0]["data"] == {"block": 0, "invalid": ["busy"]}
    assert events[1]["data"] == {"nodes": ["a1"], "requested": ["controller"]}
    assert events[2]["data"] == {"links": [{"racks": "a-b", "requested_ms": 2.0}]}
    present = read_folder(folder(tmp_path / "y", events=older)).events
    assert [e["data"] for e in present] == [e["data"] for e in older]


def test_a_manifest_with_a_missing_value_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    assert "observed: seed=None" in message(spark, folder(tmp_path / "x", seed=None))


def test_a_table_with_other_columns_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = folder(tmp_path / "x", acks=[ack(0, 0, MS)])
    file = path / "acks/part-0.parquet"
    table = pq.read_table(file)
    changed = table.rename_columns([n if n != "cause" else "why" for n in table.column_names])
    pq.write_table(changed.set_column(1, "seq", pa.array(["0"])), file)
    text = message(spark, path)
    assert "acks of" in text and "missing ['cause'], unknown ['why'], other types ['seq is string, not int64']" in text


def test_a_missing_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = folder(tmp_path / "x")
    (path / "reads").rmdir()
    assert "no folder reads" in message(spark, path)


def test_an_event_of_an_unknown_kind_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = folder(tmp_path / "x", events=[event(1, "note", "ok"), event(2, "rumour", "odd")])
    text = message(spark, path)
    assert "line 2 of the events" in text and '"rumour"' in text


def test_a_last_line_cut_short_is_skipped(spark: SparkSession, tmp_path: Path) -> None:
    path = folder(tmp_path / "x", events=[event(1, "note", "ok")])
    with (path / "events.jsonl").open("a") as out:
        out.write(json.dumps(event(2, "note", "cut"))[:20])
    assert [e["name"] for e in ingest.read_run(spark, path).events] == ["ok"]


def test_a_file_cut_short_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = folder(tmp_path / "x", acks=[ack(0, 0, MS)], reads=[read(0)])
    file = path / "reads/part-0.parquet"
    file.write_bytes(file.read_bytes()[:-10])
    text = message(spark, path)
    assert f"{file} is not a complete Parquet file" in text and f"observed: {file.stat().st_size} bytes; " in text
    assert "copy the run folder again" in text
    file.write_bytes(b"")
    assert "observed: 0 bytes; " in message(spark, path)


def test_a_null_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path / "x", acks=[ack(0, 0, MS), ack(1, 0, MS)])
    file = path / "acks/part-0.parquet"
    table = pq.read_table(file)
    offset = table.column_names.index("offset")
    pq.write_table(table.set_column(offset, "offset", pa.array([0, None], pa.int64())), file)
    with pytest.raises(AnalysisError) as caught:
        read_folder(path)
    assert caught.value.code == ENVIRONMENT and f"{file} lacks values" in caught.value.what
    assert caught.value.observed == "1 null in offset"


def test_a_second_file_with_other_columns_is_refused_too(spark: SparkSession, tmp_path: Path) -> None:
    path = folder(tmp_path / "x", acks=[ack(0, 0, MS)])
    table = pq.read_table(path / "acks/part-0.parquet")
    pq.write_table(table.drop_columns(["cause"]), path / "acks/part-1.parquet")
    assert "acks of" in message(spark, path) and "missing ['cause']" in message(spark, path)


def test_a_run_that_ended_before_it_began(spark: SparkSession, tmp_path: Path) -> None:
    text = message(spark, folder(tmp_path / "x", ended_ns=START - 1))
    assert f"a clock of {tmp_path / 'x'} went back" in text and f"ended at {START - 1} ns" in text
    assert "whose clock is steady" in text


@pytest.mark.parametrize(("clock", "line"), [("t_ns", 3), ("mono_ns", 3)])
def test_events_that_go_back_in_time(spark: SparkSession, tmp_path: Path, clock: str, line: int) -> None:
    events = [event(5 * SECOND, "note", "a"), event(9 * SECOND, "note", "b"), event(10 * SECOND, "note", "c")]
    events[2][clock] -= 4 * SECOND
    assert f"line {line} of its events is 3.000 s earlier" in message(spark, folder(tmp_path / "x", events=events))


def test_events_of_two_threads_may_cross(spark: SparkSession, tmp_path: Path) -> None:
    events = [event(5 * SECOND, "note", "a"), event(4 * SECOND + MS, "note", "b")]
    assert len(ingest.read_run(spark, folder(tmp_path / "x", events=events)).events) == 2


def test_a_bad_folder_is_skipped_and_a_double_one_counts_once(tmp_path: Path) -> None:
    good = folder(tmp_path / "good", acks=[ack(0, 0, MS)])
    found, errors = read_folders([tmp_path / "bad", good, good])
    assert [(f.id, f.rows["acks"]) for f in found] == [("good", 1)] and len(errors) == 1


def test_a_block_that_was_never_ended_does_not_count(spark: SparkSession, tmp_path: Path) -> None:
    data = {"mode": "m", "role": "baseline", "pair": 0, "producer": "p"}
    events = [
        event(1, "phase", "block", "begin", block=0, **data),
        event(2, "phase", "block", "end", block=0, **data),
        event(3, "phase", "block", "begin", block=1, **data),
    ]
    run = ingest.read_run(spark, folder(tmp_path / "x", acks=[ack(0, 0, MS)], events=events))
    assert [r["block"] for r in ingest.blocks(spark, [run]).collect()] == [0]


def test_a_copy_of_a_run_counts_once_and_another_run_of_its_id_is_an_error_that_names_both(tmp_path: Path) -> None:
    first = folder(tmp_path / "a/run", acks=[ack(0, 0, MS)])
    copy = folder(tmp_path / "b/run", acks=[ack(0, 0, MS)])
    other = folder(tmp_path / "c/run", acks=[ack(0, 0, MS)], reads=[read(0)])
    found, errors = read_folders([first, copy, first])
    assert ([run.path for run in found], errors) == ([first], [])
    found, (error,) = read_folders([first, other])
    assert [run.path for run in found] == [first]
    assert error.what == f"{other} is another run with the id of {first}" and "the run id run" in error.observed
