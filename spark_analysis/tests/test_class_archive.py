"""The archive of Spark's classes: used where it fits, never in the way."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from spark_analysis import class_archive, make_class_archive


def test_a_small_session_uses_the_archive(spark: SparkSession) -> None:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    mapped = [m.path for m in psutil.Process(gateway.proc.pid).memory_maps()]
    assert str(class_archive.path()) in mapped


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java of its own, and a folder with spaces for archives."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(class_archive, "_FOLDER", tmp_path / "two words")
    return tmp_path


def test_another_installation_of_java_in_the_same_place_has_another_archive(installed: Path) -> None:
    before = class_archive.path()
    assert class_archive.path() == before
    os.utime(installed / "bin" / "java", (1, 1))
    assert class_archive.path() != before


def test_without_an_archive_a_jvm_has_no_options(installed: Path) -> None:
    assert class_archive.java_options() == ""


def test_a_jvm_continues_without_an_archive_that_it_cannot_read(installed: Path) -> None:
    archive = class_archive.path()
    archive.parent.mkdir()
    archive.write_bytes(b"truncated")
    command = ["java", *shlex.split(class_archive.java_options()), "-version"]
    assert f"-XX:SharedArchiveFile={archive}" in command
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_failed_making_leaves_nothing_and_an_archive_is_not_made_again(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**options: str) -> None:
        raise RuntimeError("no Spark")

    monkeypatch.setattr("spark_analysis.session.session", fail)
    archive = class_archive.path()
    with pytest.raises(RuntimeError, match="no Spark"):
        make_class_archive.main()
    assert list(archive.parent.iterdir()) == []
    archive.touch()
    assert make_class_archive.main() == 0
