"""A page is computed again from the counts beside it: without run folders, without Spark, and with the same bytes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_analysis import pipeline
from spark_analysis.errors import DEFECT
from spark_analysis.input import kept_counts
from spark_analysis.tests import plain_counts
from spark_analysis.tests.generated import outage_run
from spark_analysis.tests.generated_bench import bench_run
from spark_analysis.tests.test_campaigns import consumed, counted

PAGES = ("report.html", "report.md", "report.json")
# No import of Spark or of its bridge works in this process.
WITHOUT_SPARK = """
import sys
sys.modules.update(dict.fromkeys(["pyspark", "py4j"]))
from spark_analysis.cli import main
sys.exit(main(sys.argv[1:]))
"""


def without_spark(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_SPARK, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a benchmark in 2 trials, one with a fault, one with consumers, one in counts, an outage, and a
    folder that is none; the run folders are gone.
    """
    base = tmp_path_factory.mktemp("made")
    rtt = {"b": 2.0, "c": 2.0}
    pause = {"how": "pause", "target": "c1", "seconds": 1.0, "recover": 0.5}
    invalid: dict[tuple[int, str], list[str] | None] = {(1, "baseline"): ["the processors were 95% busy"]}
    runs = [
        bench_run(base / "first", rtt_ms=rtt, refuses={"candidate": 0.001}, overwrites="least"),
        bench_run(base / "second", rtt_ms=rtt, invalid=invalid, saturated=("candidate", {1})),
        bench_run(base / "paused", per_block=100, fault=pause, unaffected=True, invalid=invalid),
        consumed(bench_run(base / "consumed", rounds=2)),
        counted(bench_run(base / "counts", rounds=2)),
        outage_run(base / "outage"),
    ]
    pipeline.write_report([*runs, base / "none"], base / "out")
    for run in runs:
        shutil.rmtree(run)
    shutil.rmtree(base / "out/cache")
    return base / "out"


@pytest.mark.variant
def test_a_page_computed_again_without_spark_is_the_same_to_the_byte(made: Path, tmp_path: Path) -> None:
    done = without_spark("recompute", made, "--out", tmp_path / "again")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'again/report.html'}\n"), done.stderr
    assert "computing second" in done.stderr and "other programs" not in done.stderr
    beside = [file for name in ("pictures", "counts") for file in (made / name).rglob("*") if file.is_file()]
    for file in (*(made / name for name in PAGES), *beside):
        assert (tmp_path / "again" / file.relative_to(made)).read_bytes() == file.read_bytes(), file
    document = json.loads((tmp_path / "again/report.json").read_text())
    assert [run["run_id"] for run in document["runs"]][-1] == "outage" and len(document["runs"]) == 6
    assert len(document["skipped"]) == 1 and document["trials"]


def test_this_process_cannot_import_spark(tmp_path: Path) -> None:
    done = without_spark("report", bench_run(tmp_path / "run", rounds=1, per_block=10), "--out", tmp_path / "out")
    assert done.returncode == DEFECT and "ModuleNotFoundError: No module named 'pyspark.sql'" in done.stderr


def test_counts_are_small(tmp_path: Path) -> None:
    """Each file is compressed: 6,000 records in four modes take less than two bytes each."""
    run = bench_run(tmp_path / "run", rtt_ms={"b": 2.0, "c": 2.0}, refuses={"candidate": 0.001}, overwrites="least")
    kept_counts.write_run(tmp_path / "counts", plain_counts.raw(run))
    size = sum(file.stat().st_size for file in (tmp_path / "counts").iterdir())
    assert size < 12_000
