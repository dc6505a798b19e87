"""Run folders, cache and output in an object store: moto's server, which runs here as a store of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spark_analysis import session
from spark_analysis.cli import main
from spark_analysis.errors import ENVIRONMENT, FAILED, OK, USAGE
from spark_analysis.input.folders import read_folder
from spark_analysis.locations import RemotePath, copy_file, copy_files, files, location
from spark_analysis.tests.generated import outage_run
from spark_analysis.tests.generated_bench import bench_run

DATA = Path(__file__).parent / "data"
SOAK, COUNTS = DATA / "soak-cycle", DATA / "bench-counts"


def put(folder: Path, url: str) -> str:
    """Copies a folder into the store."""
    copy_files(folder, location(url))
    return url


def plain(text: bytes, *places: object) -> Any:
    """A document of JSON without what says where it is from."""
    for place in places:
        text = text.replace(str(place).encode(), b"PLACE")
    return json.loads(text)


def test_a_file_is_as_it_was_written(store: str) -> None:
    folder = location(f"{store}/files")
    assert isinstance(folder, RemotePath) and not folder.exists()
    (folder / "a" / "b.txt").write_text("é")
    copy_file(folder / "a" / "b.txt", folder / "c.txt")
    assert (folder / "a" / "b.txt").stat().st_size == 2
    assert [str(f) for f in files(folder)] == [f"{store}/files/a", f"{store}/files/c.txt"]
    assert [f.name for f in files(folder, "*/*.txt")] == ["b.txt"] and (folder / "a").is_dir()
    assert (folder / "c.txt").read_text() == "é" and not (folder / "c.txt").is_dir()
    with pytest.raises(FileNotFoundError):
        (folder / "d.txt").stat()


def test_a_run_folder_has_the_same_contents_there(store: str) -> None:
    remote, here = read_folder(location(put(SOAK, f"{store}/same/soak"))), read_folder(SOAK)
    assert (remote.bytes, remote.rows, remote.events) == (here.bytes, here.rows, here.events)


def test_the_digest_of_a_run_folder_is_made_of_the_tags_of_the_store(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (read_folder(location(put(SOAK, f"{store}/digest/{name}"))) for name in ("soak", "copy"))
    with monkeypatch.context() as patch:
        patch.setattr(RemotePath, "open", lambda *_: pytest.fail("a file was read"))
        digest = first.digest()
        assert second.digest() == digest, "of equal contents"
    file = files(location(f"{store}/digest/soak/acks"))[0]
    data = file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert file.stat().st_size == len(data) and first.digest() != digest, "of others of the same size"
    file.write_bytes(data)
    assert first.digest() == digest
    monkeypatch.setattr(RemotePath, "tag", lambda _: "")
    assert first.digest() == read_folder(SOAK).digest(), "of a store without tags"


def test_a_run_is_checked_there_as_it_is_here(store: str, tmp_path: Path) -> None:
    url = put(SOAK, f"{store}/check/soak")
    codes = [main(["check", run, "--out", out]) for run, out in ((url, f"{store}/check"), (str(SOAK), str(tmp_path)))]
    assert codes[0] == codes[1]
    there = plain(location(f"{store}/check/check.json").read_bytes(), url)
    assert there == plain((tmp_path / "check.json").read_bytes(), SOAK) and there["runs"]
    assert location(f"{store}/check/check.html").read_bytes().startswith(b"<!doctype html>")


def test_a_page_is_computed_there_from_its_counts(store: str, tmp_path: Path) -> None:
    url = put(COUNTS, f"{store}/page")
    assert main(["recompute", url, "--out", f"{store}/again"]) == OK
    assert main(["recompute", str(COUNTS), "--out", str(tmp_path)]) == OK
    for name in ("report.json", "report.html", "counts/counts.json"):
        assert location(f"{store}/again/{name}").read_bytes() == (tmp_path / name).read_bytes(), name
    assert main(["recompute", f"{store}/again", "--out", f"{store}/again"]) == OK


def test_counts_that_were_changed_are_noticed(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    url = put(COUNTS, f"{store}/changed")
    file = files(location(url), "*/*.parquet" if not (COUNTS / "counts").exists() else "counts/*/*.parquet")[0]
    file.write_bytes(file.read_bytes()[:-1])
    assert main(["recompute", url, "--out", f"{store}/none"]) == FAILED
    assert f"{file} is not what was written" in capsys.readouterr().err
    assert not location(f"{store}/none").exists()


def test_what_is_not_there_is_named(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{store}/nothing", "--out", f"{store}/none"]) == ENVIRONMENT
    assert f"{store}/nothing is not a run folder" in capsys.readouterr().err
    assert main(["recompute", "s3a://no-such-bucket/page", "--out", f"{store}/none"]) == USAGE
    assert "s3a://no-such-bucket/page has no counts of a report" in capsys.readouterr().err


def test_what_cannot_be_written_is_named(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for out, name in (("s3a://no-such-bucket/page", "no-such-bucket"), (str(tmp_path / "file" / "page"), "file/page")):
        assert main(["recompute", str(COUNTS), "--out", out]) == ENVIRONMENT
        said = capsys.readouterr().err
        assert "a file could not be read or written" in said and name in said and "may be written" in said


def test_a_url_of_another_kind_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for url in ("ftp://host/run", "s3a:///run"):
        assert main(["check", url, "--out", "out"]) == USAGE
        said = capsys.readouterr().err
        assert f"{url} cannot be read or written" in said and "s3a://BUCKET/FOLDER or hdfs://HOST:PORT/FOLDER" in said


def test_hdfs_without_hadoop_is_an_error_of_the_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    monkeypatch.delenv("ARROW_LIBHDFS_DIR", raising=False)
    assert main(["check", "hdfs://127.0.0.1:1/run", "--out", str(tmp_path / "out")]) == ENVIRONMENT
    assert "hdfs://127.0.0.1:1 cannot be read or written" in (said := capsys.readouterr().err)
    assert "set HADOOP_HOME" in said


def test_spark_without_the_jars_says_how_to_get_them(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "_OBJECT_STORE", tmp_path)
    url = put(outage_run(tmp_path / "outage"), f"{store}/no-jars")
    assert main(["report", url, "--out", str(tmp_path / "out")]) == ENVIRONMENT
    assert "run `gradle objectStore`" in capsys.readouterr().err


@pytest.mark.variant
@pytest.mark.timeout(900)
def test_spark_makes_the_report_there_as_it_does_here(store: str, tmp_path: Path) -> None:
    """A process of its own: the session of the other tests has no such jars."""
    runs = [outage_run(tmp_path / "outage"), bench_run(tmp_path / "bench", rounds=2)]
    urls = [put(run, f"{store}/report/{run.name}") for run in runs]
    here, there = str(tmp_path / "out"), f"{store}/report/out"
    first = report(*urls, "--out", there, "--cache", f"{store}/report/cache")
    assert first.stdout.splitlines()[-1] == f"{there}/report.html"
    report(*map(str, runs), "--out", here)
    documents = [
        plain((location(out) / "report.json").read_bytes(), out, base)
        for out, base in ((there, f"{store}/report"), (here, tmp_path))
    ]
    assert documents[0]["runs"] == documents[1]["runs"]
    for name in ("counts/counts.json", "pictures"):
        assert location(f"{there}/{name}").exists()
    assert {f.name for f in files(location(f"{there}/tables"))} == {f.name for f in files(Path(here, "tables"))}
    checked = put(SOAK, f"{store}/report/soak")
    for out, master in ((f"{there}/spark", ["--master", "local[2]"]), (f"{there}/here", [])):
        analysis("check", checked, "--out", out, *master)
    verdicts = [plain((location(there) / name / "check.json").read_bytes()) for name in ("spark", "here")]
    assert verdicts[0] == verdicts[1]
    again = report(*urls, "--out", there, "--cache", f"{store}/report/cache")
    assert "reused 2" in again.stderr and "starting Spark" not in again.stderr


def report(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A report by the analysis as a program."""
    done = analysis("report", *arguments)
    assert done.returncode == OK, done.stderr[-4000:]
    return done


def analysis(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The analysis as a program."""
    command = [sys.executable, "-m", "spark_analysis", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
