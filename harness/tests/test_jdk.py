"""The JDK: which one is taken, and that programs find it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.distribution.jdk import find_jdk, use_jdk, version


def jdk(home: Path, release: str) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "javac").write_text("#!/bin/sh\n")
    (home / "bin" / "javac").chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')
    return home


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("JAVA_HOME", "")


def test_java_home_comes_before_path_and_path_before_debians(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_jdk(tmp_path) is None
    last = jdk(tmp_path / "java-21-openjdk-amd64", "21.0.2")
    assert find_jdk(tmp_path) == last
    debian = jdk(tmp_path / "java-17-openjdk-amd64", "17.0.15")
    assert find_jdk(tmp_path) == debian
    on_path = jdk(tmp_path / "other", "25.0.3")
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    assert find_jdk(tmp_path) == on_path
    given = jdk(tmp_path / "given", "18")
    monkeypatch.setenv("JAVA_HOME", str(given))
    assert find_jdk(tmp_path) == given


def test_what_cannot_compile_kafka_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = jdk(tmp_path / "old", "1.8.0_402")
    new = jdk(tmp_path / "new", "26")
    (jdk(tmp_path / "java-17-openjdk-amd64", "17.0.15") / "bin" / "javac").unlink()  # a JRE
    for home in (old, new, tmp_path / "nowhere"):
        monkeypatch.setenv("JAVA_HOME", str(home))
        assert find_jdk(tmp_path) is None
    assert (version(old), version(new), version(tmp_path)) == (1, 26, None)


def test_programs_find_the_jdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = jdk(tmp_path / "given", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    for _ in range(2):
        assert use_jdk()
        assert os.environ["JAVA_HOME"] == str(home)
        assert os.environ["PATH"] == f"{home}/bin:{tmp_path / 'path'}"
