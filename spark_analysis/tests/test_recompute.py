"""A page is computed again from the counts beside it: without run folders, without Spark, and with the same bytes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_analysis import cli, pipeline
from spark_analysis.input import kept_counts, programs
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


def test_a_page_computed_again_without_spark_is_the_same_to_the_byte(made: Path, tmp_path: Path) -> None:
    done = without_spark("recompute", made, "--out", tmp_path / "again")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'again/report.html'}\n"), done.stderr
    assert "computing second" in done.stderr and "other programs" not in done.stderr
    for name in (*PAGES, *(f"pictures/{p.name}" for p in (made / "pictures").iterdir())):
        assert (tmp_path / "again" / name).read_bytes() == (made / name).read_bytes(), name
    document = json.loads((tmp_path / "again/report.json").read_text())
    assert [run["run_id"] for run in document["runs"]][-1] == "outage" and len(document["runs"]) == 6
    assert len(document["skipped"]) == 1 and document["trials"]
    # Its counts are as good as the first ones.
    assert without_spark("recompute", tmp_path / "again/counts", "--out", tmp_path / "once-more").returncode == 0
    assert (tmp_path / "once-more/report.json").read_bytes() == (made / "report.json").read_bytes()


def test_this_process_cannot_import_spark(made: Path, tmp_path: Path) -> None:
    done = without_spark("report", made, "--out", tmp_path)
    assert done.returncode == 1 and "import of pyspark halted" in done.stderr


def test_figures_follow_from_the_counts(made: Path, tmp_path: Path) -> None:
    """Records that are counted otherwise give another page: the figures are not copied."""
    kept = kept_counts.read(made)
    runs = list(kept.runs())
    first = runs[0]
    table = first.tables["latencies"]
    doubled = table.set_column(
        table.column_names.index("value"), "value", [[v and 2 * v for v in table["value"].to_pylist()]]
    )
    folders = {}
    for folder, run in zip(kept.folders, runs, strict=True):
        tables = {**run.tables, "latencies": doubled} if run is first else run.tables
        folders[folder.name] = tmp_path / folder.name
        kept_counts.write_run(tmp_path / folder.name, kept_counts.RunCounts(run.facts, tables))
    kept_counts.write(tmp_path / "counts", folders, kept.made)
    assert cli.main(["recompute", str(tmp_path / "counts"), "--out", str(tmp_path / "out")]) == 0
    before, after = (json.loads((where / "report.json").read_text())["runs"] for where in (made, tmp_path / "out"))
    for old, new in zip(before[0]["bench"]["per_block"], after[0]["bench"]["per_block"], strict=True):
        known = isinstance(old["value_us"], float)
        assert new["value_us"] == (pytest.approx(2 * old["value_us"]) if known else old["value_us"])
    assert before[1:] == after[1:]


def test_counts_are_small(made: Path) -> None:
    """Each file is compressed: 6,000 records in four modes take less than two bytes each."""
    size = sum(file.stat().st_size for file in (made / "counts/first").iterdir())
    assert size < 30_000


def test_gates_are_evaluated_on_a_page_computed_again(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gates = tmp_path / "gates.yaml"
    gates.write_text("apiVersion: rackspan/v1\ngates:\n  - {name: all read, of: skipped, at_most: 0}\n")
    assert cli.main(["recompute", str(made), "--out", str(tmp_path / "out"), "--gate", str(gates)]) == 1
    assert "✗ all read: 1 folders skipped, requested: at most 0" in capsys.readouterr().out


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def altered(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def index_with(**changes: object) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return change


@pytest.mark.parametrize(
    ("name", "damage", "code", "said"),
    [
        ("first/latencies.parquet", cut, 1, "first/latencies.parquet is not what was written\n  observed: "),
        ("first/facts.json.gz", altered, 1, "first/facts.json.gz is not what was written\n  observed: "),
        ("outage/fates.parquet", Path.unlink, 1, "is not what was written\n  observed: No such file or directory\n"),
        ("counts.json", cut, 1, "counts.json is not what was written\n  observed: "),
        ("counts.json", index_with(made={}), 1, "observed: its digest is not the one that it was written with ("),
        (
            "counts.json",
            index_with(version="1"),
            1,
            "counts.json is not what was written\n  observed: no version in it\n",
        ),
        (
            "counts.json",
            index_with(version=2, program={"version": "9.1"}),
            4,
            "are of a newer version\n  observed: version 2, this program reads up to 1\n"
            "  do:       use Rackspan 9.1, which wrote them\n",
        ),
        (
            "counts.json",
            Path.unlink,
            2,
            "has no counts of a report\n  observed: counts.json: No such file or directory\n",
        ),
    ],
)
def test_damaged_counts_are_refused_with_one_error(
    made: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    damage: Callable[[Path], None],
    code: int,
    said: str,
) -> None:
    folder = tmp_path / "counts"
    shutil.copytree(made / "counts", folder)
    damage(folder / name)
    assert cli.main(["recompute", str(folder), "--out", str(tmp_path / "out")]) == code
    err = capsys.readouterr().err
    assert said in err and err.count("observed:") == 1 and str(folder) in err
    assert not (tmp_path / "out").exists()


def test_counts_of_other_programs_are_read_and_said_so(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "digest", lambda: "another")
    assert cli.main(["recompute", str(made), "--out", str(tmp_path)]) == 0
    assert "written by other programs (Rackspan 0.1.0): figures may differ" in capsys.readouterr().err
