"""A wall clock that is set while a run continues: windows are joined on the monotonic clock, and the run is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_analysis.errors import AnalysisError
from spark_analysis.input.clocks import producer_clocks
from spark_analysis.input.folders import read_folder
from spark_analysis.report.files import plain
from spark_analysis.report.run_part import part_of
from spark_analysis.tests import plain_counts
from spark_analysis.tests.generated import MS, SECOND, START, event, folder, outage_run, rows_of, write
from spark_analysis.tests.generated_bench import MODES, bench_run, section_of

WALL = ("due_ns", "sent_ns", "done_ns")


def stepped(path: Path, by: int, *producers: str) -> Path:
    """The wall clock was set by so much after the run began and before these clients did: a client reads it once, and
    all of its times are later by that; those of its monotonic clock are not, nor those of the run's events.
    """
    rows = rows_of(path, "acks")
    for row in rows:
        if row["producer"] in producers:
            row |= {name: row[name] + by for name in WALL if row[name]}
    write(path, "acks", rows)
    return path


def noting(path: Path, producer: str, mono_ns: int, ahead_ns: int) -> None:
    """The run noted the start of a client whose monotonic clock shows that, and how far its wall clock is ahead."""
    anchor = {"anchor_mono_ns": mono_ns, "anchor_epoch_ns": mono_ns + ahead_ns}
    line = event(0, "note", "producer", producer=producer, mono_ns=mono_ns + 5 * MS, **anchor)
    events = path / "events.jsonl"
    events.write_text(json.dumps(line) + "\n" + events.read_text())


def without_times(data: dict[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in ("pooled", "per_block", "ratios", "success", "outcomes", "goals")}


def test_a_small_step_of_the_wall_clock_moves_no_record_into_another_block(spark: SparkSession, tmp_path: Path) -> None:
    """0.9 s is below what is refused, and most of a block."""
    path = bench_run(tmp_path / "run", rtt_ms={"b": 2.0, "c": 2.0}, per_block=100)
    steady = without_times(plain_counts.section(path))
    moved = stepped(path, 900 * MS, *(str(m["name"]) for m in MODES))
    assert without_times(section_of(spark, moved).data) == steady


def test_a_wall_clock_that_was_set_before_a_client_began_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = stepped(bench_run(tmp_path / "run", rounds=2), -5 * SECOND, "all")
    with pytest.raises(AnalysisError) as caught:
        part_of(spark, read_folder(path))
    text = str(caught.value)
    assert f"a clock of {path} went back or was set" in text and "make the run again on a machine whose clock" in text
    assert "moved by 5.000 s against each other until the due times of producer all" in text


def test_a_wall_clock_that_was_set_before_the_run_ended_is_refused(tmp_path: Path) -> None:
    def ended(name: str, ended_ns: int) -> Path:
        clock = {"epoch_ns": START, "mono_ns": 7, "ended_mono_ns": 60 * SECOND + 7}
        return folder(tmp_path / name, clock=clock, ended_ns=ended_ns)

    assert read_folder(ended("steady", START + 60 * SECOND + 900 * MS))
    for name, at in (("ahead", START + 63 * SECOND), ("back", START + 57 * SECOND)):
        with pytest.raises(
            AnalysisError, match=r"moved by 3\.000 s against each other from the begin of the run to its"
        ):
            read_folder(ended(name, at))


def test_times_of_an_outage_are_those_of_the_monotonic_clock(
    spark: SparkSession, tmp_path: Path, document: dict[str, Any]
) -> None:
    moved = stepped(outage_run(tmp_path / "moved"), 900 * MS, "p")
    noting(moved, "p", 0, START + 900 * MS)
    straight, found = document["runs"][0]["outage"], plain(part_of(spark, read_folder(moved)).data)["outage"]
    for name in ("segments", "series", "windows"):
        assert found[name] == straight[name], name
    assert [(s["from_s"], s["to_s"]) for s in found["silences"]] == [(11.984, 20.5)]


def test_an_outage_with_a_wall_clock_that_was_set_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = stepped(outage_run(tmp_path / "run"), 4 * SECOND, "p")
    noting(path, "p", 0, START + 4 * SECOND)
    with pytest.raises(AnalysisError, match=r"moved by 4\.000 s against each other"):
        part_of(spark, read_folder(path))


def test_a_client_on_another_machine_is_joined_by_its_wall_clock(spark: SparkSession, tmp_path: Path) -> None:
    """Its monotonic clock shows another time; none of them was set."""
    path = bench_run(tmp_path / "run", per_block=100)
    write(path, "fetches", [])
    here = plain_counts.section(path)
    hours = 7200 * SECOND
    rows = rows_of(path, "acks")
    write(path, "acks", [{**row, "due_mono_ns": row["due_mono_ns"] + hours} for row in rows])
    for mode in MODES:
        noting(path, str(mode["name"]), hours, START - hours)
    assert set(producer_clocks(read_folder(path).events).elsewhere_ahead_ns.values()) == {START - hours}
    data = section_of(spark, path).data
    for name in ("pooled", "per_block", "ratios"):
        assert data[name] == here[name], name
