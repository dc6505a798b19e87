"""The exit code of `check`, and what it prints, where a run cannot be checked."""

from __future__ import annotations

import io
import json
import random
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_analysis.checker.check import check
from spark_analysis.checker.history import read_history
from spark_analysis.checker.runner import OnSpark
from spark_analysis.cli import main
from spark_analysis.errors import AnalysisError
from spark_analysis.tests.copies import REAL, folder, real
from spark_analysis.tests.corruptions import CORRUPTIONS


def test_without_a_run_there_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert main(["check", "--out", str(tmp_path / "out")]) == 2
    assert "observed: no RUN was named, and stdin has none" in capsys.readouterr().err


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    """A run that lost what it had acknowledged."""
    part = real().named("orders")
    CORRUPTIONS["tail_cut"][1](part, random.Random(3))
    return folder(tmp_path / "lossy", [part])


@pytest.fixture
def truncated(tmp_path: Path) -> Path:
    """A run with a table that was cut short."""
    path = Path(shutil.copytree(REAL, tmp_path / "truncated"))
    file = next((path / "acks").glob("*.parquet"))
    file.write_bytes(file.read_bytes()[:300])
    return path


def test_a_run_that_cannot_be_read_hides_no_anomaly_of_another(
    lossy: Path, truncated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(truncated), str(lossy), str(tmp_path / "nothing"), str(REAL)]
    assert main(["check", *runs, "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    lines = [json.loads(line) for line in printed.out.splitlines()]
    assert [line.get("verdict") for line in lines] == [None, "anomalies", None, "ok"]
    assert "is not a complete Parquet file" in lines[0]["error"] and "is not a run folder" in lines[2]["error"]
    assert "is not a complete Parquet file" in printed.err and f"{tmp_path / 'nothing'} is not" in printed.err
    written = json.loads((tmp_path / "out" / "check.json").read_text(encoding="utf-8"))
    assert [run["verdict"] for run in written["runs"]] == ["anomalies", "ok"] and len(written["errors"]) == 2
    assert "is not a complete Parquet file" in (tmp_path / "out" / "check.html").read_text(encoding="utf-8")


def test_a_run_that_cannot_be_read_comes_before_one_that_is_not_known(
    truncated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = folder(tmp_path / "unknown", [real().named("orders")])
    (unknown / "events.jsonl").write_text("", encoding="utf-8")
    out = ["--out", str(tmp_path / "out")]
    assert main(["check", str(unknown), str(REAL), *out]) == 3
    assert main(["check", str(unknown), str(truncated), *out]) == 4
    assert main(["check", str(tmp_path / "nothing"), *out]) == 4
    monkeypatch.setattr("sys.stdin", io.StringIO(f"ftp://nowhere/run\n{truncated}\n"))
    assert main(["check", *out]) == 4


def _flip(path: Path, table: str, column: str) -> Path:
    """Changes a bit in a table of a run where any value could be; returns the file."""
    file = next((path / table).glob("*.parquet"))
    pq.write_table(pq.read_table(file), file, compression="none", use_dictionary=False, write_page_checksum=True)
    columns = pq.read_metadata(file).row_group(0).to_dict()["columns"]
    (at,) = (one for one in columns if one["path_in_schema"] == column)
    content = bytearray(file.read_bytes())
    content[at["data_page_offset"] + at["total_compressed_size"] - 1] ^= 1
    file.write_bytes(content)
    return file


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The real cycle as a run folder."""
    return Path(shutil.copytree(REAL, tmp_path / "run"))


@pytest.mark.parametrize(
    ("table", "column"), [("acks", "done_ns"), ("replicas", "seq"), ("partitions", "t_ns"), ("watermarks", "t_ns")]
)
def test_a_flipped_bit_is_an_error_of_the_data(
    run: Path, tmp_path: Path, table: str, column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _flip(run, table, column)
    assert main(["check", str(run), "--out", str(tmp_path / "out")]) == 4
    printed = capsys.readouterr().err
    assert f"{file} cannot be read" in printed and "CRC checksum verification failed" in printed


def test_a_task_of_spark_that_cannot_read_a_file_says_which(spark: SparkSession, run: Path) -> None:
    file = _flip(run, "acks", "done_ns")
    with pytest.raises(AnalysisError, match="cannot be read") as caught:
        check(read_history(run), OnSpark(spark))
    assert str(file) in caught.value.what and caught.value.code == 4
    assert "CRC checksum verification failed" in caught.value.observed


def test_a_defect_of_the_program_is_no_anomaly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("spark_analysis.checker.cli.check", lambda *_: 1 // 0)
    assert main(["check", str(REAL), "--out", str(tmp_path / "out")]) == 5
    printed = capsys.readouterr().err
    assert "Traceback (most recent call last)" in printed and "observed: ZeroDivisionError" in printed


@pytest.mark.parametrize("acknowledged", [True, False])
def test_a_row_that_is_there_twice_is_refused(
    tmp_path: Path, acknowledged: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    part = real().named("orders")
    part.acks.append(next(ack for ack in part.acks if (ack["result"] == "OK") == acknowledged))
    assert main(["check", str(folder(tmp_path / "run", [part])), "--out", str(tmp_path / "out")]) == 4
    assert "observed: 1 rows of a producer and sequence that another row has" in capsys.readouterr().err
