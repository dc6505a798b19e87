"""Results are computed once and reused; folders with impossible contents are skipped by name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_analysis import pipeline
from spark_analysis.input.cache import Cache
from spark_analysis.input.folders import Folder, read_folder
from spark_analysis.input.kept_counts import RunCounts
from spark_analysis.report import run_part
from spark_analysis.tests.generated import MS, SECOND, ack, folder, outage_run


def small(path: Path, records: int, **changes: Any) -> Path:
    """A run of records without an event."""
    return folder(path, acks=[ack(i, i * MS, MS) for i in range(records)], **changes)


def report(out: Path, *runs: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(pipeline.write_report(list(runs), out).with_name("report.json").read_text())
    return made


def test_a_new_folder_is_the_only_one_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, runs = tmp_path / "out", [small(tmp_path / "a", 11)]
    made = report(out, *runs)
    assert made["work"] == {"computed": ["a"], "reused": [], "acks_read": 11}
    opened, original = [], run_part.part_of

    def part_of(spark: SparkSession, folder: Folder) -> Any:
        opened.append(folder.id)
        return original(spark, folder)

    monkeypatch.setattr(pipeline, "part_of", part_of)
    more = report(out, *runs, small(tmp_path / "b", 22))
    assert more["work"] == {"computed": ["b"], "reused": ["a"], "acks_read": 22} and opened == ["b"]
    assert more["runs"][:1] == made["runs"] and [r["run_id"] for r in more["runs"]] == ["a", "b"]
    assert "computed 1 runs, reused 1" in capsys.readouterr().err
    rows = pq.read_table(out / "tables/outcomes").to_pylist()
    assert sorted((r["run"], r["records"]) for r in rows) == [("a", 11), ("b", 22)]
    # Nothing new: no session is needed at all.
    monkeypatch.setattr(pipeline, "session", lambda *requested: pytest.fail("Spark was started"))
    again = report(out, *runs)
    assert again["work"] == {"computed": [], "reused": ["a"], "acks_read": 0} and again["runs"] == made["runs"]
    assert len(pq.read_table(out / "tables/outcomes")) == 1, "tables of a run that was not requested are gone"


def test_an_outage_is_computed_in_few_jobs(spark: SparkSession, tmp_path: Path) -> None:
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.nextJobId()
    report(tmp_path / "out", outage_run(tmp_path / "a"))
    assert 1 <= scheduler.nextJobId() - before <= 15


@pytest.fixture(scope="module")
def kept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder `a` and, in `cache`, an entry of it."""
    base = tmp_path_factory.mktemp("kept")
    path = small(base / "a", 5)
    Cache(base / "cache", print).keep(
        read_folder(path), {"run_id": "a"}, {"numbers": spark.range(3).toDF("n")}, RunCounts({"n": 3}, {})
    )
    assert [p.name for p in (base / "cache").iterdir()] == ["a"], "something was left aside"
    return base


def test_a_kept_entry_is_found(kept: Path) -> None:
    found = Cache(kept / "cache", print).find(read_folder(kept / "a"))
    assert found is not None and found.part == {"run_id": "a"}
    assert pq.read_table(found.tables["numbers"]).to_pylist() == [{"n": 0}, {"n": 1}, {"n": 2}]


KEEP = """
import sys
from pathlib import Path
import pyarrow as pa
from spark_analysis.input.cache import Cache
from spark_analysis.input.folders import read_folder
from spark_analysis.input.kept_counts import RunCounts
folder, cache = read_folder(Path(sys.argv[1])), Cache(Path(sys.argv[2]), print)
print("ready", flush=True)
sys.stdin.readline()
for n in range(300):
    assert cache.keep(folder, {"n": n}, {"numbers": pa.table({"n": [n]})}, RunCounts({}, {})).part == {"n": n}
"""


def test_two_reports_that_keep_the_same_run_do_not_disturb_each_other(tmp_path: Path) -> None:
    folder = small(tmp_path / "a", 5)
    command = [sys.executable, "-c", KEEP, str(folder), str(tmp_path / "cache")]
    writers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert [p.name for p in (tmp_path / "cache").iterdir()] == ["a"], "something was left aside"


@pytest.mark.parametrize("damage", ["part.json", "tables/numbers", "counts/facts.json.gz", "entry.json", "gone"])
def test_a_damaged_entry_is_not_used(kept: Path, tmp_path: Path, damage: str) -> None:
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    if damage == "gone":
        (tmp_path / "cache/a/part.json").unlink()
    else:
        place = tmp_path / "cache/a" / damage
        file = next(place.glob("*.parquet")) if place.is_dir() else place
        file.write_bytes(file.read_bytes()[:-3])
    reported: list[str] = []
    assert Cache(tmp_path / "cache", reported.append).find(read_folder(tmp_path / "a")) is None
    assert len(reported) == 1 and reported[0].startswith("what was kept of a is damaged (")


def test_a_changed_folder_and_another_release_are_computed_again(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    reported: list[str] = []
    known = Cache(tmp_path / "cache", reported.append)
    assert known.find(read_folder(tmp_path / "a")) is not None
    assert Cache(tmp_path / "cache", reported.append, version="another").find(read_folder(tmp_path / "a")) is None
    manifest = json.loads((tmp_path / "a/manifest.json").read_text())
    (tmp_path / "a/manifest.json").write_text(json.dumps({**manifest, "seed": 8}))
    assert known.find(read_folder(tmp_path / "a")) is None and reported == []


def test_every_kind_of_bad_folder_is_reported_on_the_page_and_the_good_ones_are_kept(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = small(tmp_path / "good", 7)
    cut = small(tmp_path / "cut", 7)
    (cut / "acks/part-0.parquet").write_bytes((cut / "acks/part-0.parquet").read_bytes()[:-1])
    rotten = small(tmp_path / "rotten", 3000)
    file = rotten / "acks/part-0.parquet"
    spoilt = bytearray(file.read_bytes())
    spoilt[100 : len(spoilt) // 2] = np.random.default_rng(1).bytes(len(spoilt) // 2 - 100)
    file.write_bytes(spoilt)
    bare = small(tmp_path / "bare", 7)
    (bare / "manifest.json").unlink()
    later = small(tmp_path / "later", 7, schema_version=99)
    empty = folder(tmp_path / "empty")
    back = folder(tmp_path / "back", acks=[ack(0, SECOND, MS), ack(1, 2 * SECOND, -MS)])
    moved = folder(tmp_path / "moved", acks=[ack(0, 0, MS), ack(1, 9 * SECOND, MS, due_mono_ns=4 * SECOND)])
    old = small(tmp_path / "old", 7, kind="bench")
    paths = [cut, rotten, bare, later, empty, back, moved, old, good]
    made = report(tmp_path / "out", *paths)
    assert [r["run_id"] for r in made["runs"]] == ["good"]
    reported = {
        name: next(e for e in made["skipped"] if f"/{name}" in e["what"]) for name in (p.name for p in paths[:-1])
    }
    assert len(made["skipped"]) == 8
    assert "is not a complete Parquet file" in reported["cut"]["what"]
    assert "could not be computed" in reported["rotten"]["what"] and len(reported["rotten"]["observed"]) > 10
    assert "is not a run folder" in reported["bare"]["what"] and "manifest.json" in reported["bare"]["observed"]
    assert reported["later"]["observed"] == "schema version 99, wanted 4"
    assert reported["empty"]["observed"] == "no row in acks, 0 events, state finished"
    assert reported["back"]["observed"] == "1 record of producer p answered before they were sent"
    assert "moved by 5.000 s against each other" in reported["moved"]["observed"]
    assert reported["old"]["observed"] == "no 'workload' in its manifest or events"
    page, err = (tmp_path / "out/report.html").read_text(), capsys.readouterr().err
    for path in paths[:-1]:
        assert f"{path}" in page and f"{path}" in err
    assert not list((tmp_path / "out/cache").glob("[!g]*")), "a bad folder was kept"
