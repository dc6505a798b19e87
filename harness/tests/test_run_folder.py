"""The run folder follows schema.json, also when a run is interrupted."""

from __future__ import annotations

import json
import re
import resource
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.run_folder import run_folder
from harness.run_folder.run_folder import RunFolder, RunFolderError


def ack(**changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "producer": "p",
        "seq": 0,
        "topic": "t",
        "partition": 0,
        "offset": 7,
        "due_ns": 1,
        "sent_ns": 2,
        "done_ns": 3,
        "due_mono_ns": 1,
        "result": "OK",
        "cause": "",
    }
    return {**row, **changes}


def test_a_run_has_the_layout_and_ends_as_finished(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "outage", kind="outage", seed=5, spec={"racks": 3}, patches=["a.patch"]) as run:
        assert run_folder.read_manifest(run.path)["state"] == "running"
        run.add_acks(pa.Table.from_pylist([ack()]))
        run.add_metrics([{"t_ns": 1, "node": "b1", "rack": "a", "name": "m", "labels": "{}", "value": 2}])
    assert re.fullmatch(r"\d{8}T\d{6}Z-outage", run.path.name)
    manifest = run_folder.read_manifest(run.path)
    assert [f["name"] for f in run_folder.schema_file()["manifest"]] == list(manifest)
    assert manifest["state"] == "finished" and manifest["ended_ns"] >= manifest["started_ns"] > 0
    assert (manifest["seed"], manifest["spec"], manifest["patches"]) == (5, {"racks": 3}, ["a.patch"])
    assert manifest["host"]["cpus"] >= 1
    assert pq.read_table(run.path / "acks").schema.equals(run_folder.arrow_schema("acks"))
    assert pq.read_table(run.path / "metrics").to_pylist()[0]["value"] == 2.0
    assert not list(run.path.rglob(".*")), "files written aside must be gone"


def test_pages_of_a_table_have_checksums(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "x")
    file = run.add_acks(pa.Table.from_pylist([ack(seq=n) for n in range(100)]))
    (seq,) = (c for c in pq.read_metadata(file).row_group(0).to_dict()["columns"] if c["path_in_schema"] == "seq")
    content = bytearray(file.read_bytes())
    content[seq["data_page_offset"] + seq["total_compressed_size"] - 1] ^= 1
    file.write_bytes(content)
    with pytest.raises(OSError, match="CRC checksum verification failed"):
        pq.read_table(file, page_checksum_verification=True)


def test_two_runs_of_one_second_do_not_share_a_folder(tmp_path: Path) -> None:
    paths = {RunFolder.create(tmp_path, "x").path for _ in range(3)}
    assert len(paths) == 3


def test_an_exception_ends_the_run_as_failed_with_its_text(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "x")
    with pytest.raises(ValueError), run, run.phase("steady"):
        raise ValueError("broker b1 gone")
    assert run_folder.read_manifest(run.path)["state"] == "failed"
    assert run_folder.read_manifest(run.path)["failure"] == "ValueError: broker b1 gone"
    assert [(e["name"], e["state"]) for e in run_folder.read_events(run.path)] == [
        ("steady", "begin"),
        ("steady", "end"),
    ]


def test_event_times_rise_and_share_the_anchor(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "x")
    run.event("fault", "rack_down a", "begin", {"nodes": ["a1"]})
    run.event("fault", "rack_down a", "end", {"nodes": ["a1"]})
    first, second = run_folder.read_events(run.path)
    clock = run_folder.read_manifest(run.path)["clock"]
    assert first["t_ns"] < second["t_ns"]
    assert first["t_ns"] - first["mono_ns"] == clock["epoch_ns"] - clock["mono_ns"]
    assert first["data"] == {"nodes": ["a1"]}


def test_a_line_truncated_by_a_crash_is_skipped(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "x")
    run.event("note", "one")
    with (run.path / "events.jsonl").open("a") as out:
        out.write('{"t_ns": 1, "na')
    assert [e["name"] for e in run_folder.read_events(run.path)] == ["one"]


def test_errors_name_the_observation_and_the_remedy(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "x")
    with pytest.raises(RunFolderError, match=r"kind 'fualt' and state 'point'[\s\S]*phase, fault, config, note"):
        run.event("fualt", "rack_down a")
    with pytest.raises(RunFolderError, match=r"missing columns \['cause'\] and unknown columns \['reason'\]"):
        run.add_acks(pa.Table.from_pylist([ack()]).rename_columns(renamed_columns()))
    with pytest.raises(RunFolderError, match=r"cannot add acks[\s\S]*give every column the type"):
        run.add_acks(pa.Table.from_pylist([ack(partition=2**40)]))
    with pytest.raises(RunFolderError, match=r"unknown versoins"):
        run.update(versoins={})
    with pytest.raises(RunFolderError, match=r"'a b'[\s\S]*use letters"):
        RunFolder.create(tmp_path, "a b")
    with pytest.raises(RunFolderError, match=r"cannot read run[\s\S]*give a folder"):
        run_folder.read_manifest(tmp_path)


def test_a_table_on_a_full_disk_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "x")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(
            RunFolderError, match=r"cannot add acks[\s\S]*File too large[\s\S]*make room on the disk of"
        ):
            run.add_acks(pa.Table.from_pylist([ack(seq=n, cause=str(n)) for n in range(3000)]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((run.path / "acks").iterdir()) == []
    run.add_acks(pa.Table.from_pylist([ack()]))


def renamed_columns() -> list[str]:
    return [n if n != "cause" else "reason" for n in run_folder.arrow_schema("acks").names]


def test_another_schema_version_is_refused(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "x")
    manifest = {**run_folder.read_manifest(run.path), "schema_version": 99}
    (run.path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunFolderError, match=r"schema version 99, wanted 4"):
        run_folder.read_manifest(run.path)


def test_parts_of_a_table_do_not_overwrite_each_other(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "x")
    files = [run.add_acks(pa.Table.from_pylist([ack(seq=i)]), "p1") for i in range(3)]
    assert len(set(files)) == 3
    assert sorted(pq.read_table(run.path / "acks")["seq"].to_pylist()) == [0, 1, 2]
