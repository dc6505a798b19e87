"""Builds through Gradle: the output, and the errors."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.common import subprocesses
from harness.common.errors import Exit, RackspanError
from harness.common.progress import Progress
from harness.distribution import build
from harness.distribution.build import gradle

needs_gradle = pytest.mark.skipif(shutil.which("gradle") is None, reason="no gradle on this machine")

SOURCE = str(Path("kafka-patch", "src", "main", "A.java"))
TEST = str(Path("kafka-patch", "src", "test", "T.java"))


def test_a_failed_task_shows_the_output_of_gradle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "gradle"
    program.write_text(
        "#!/bin/sh\nfor task; do :; done\necho \"Task '$task' not found in root project 'rackspan'\" >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RackspanError, match="gradle noSuchTask failed") as e:
        gradle(["noSuchTask"], "nothing", Progress())
    assert "Task 'noSuchTask' not found in root project 'rackspan'" in e.value.observed


@needs_gradle
def test_the_output_of_a_task_is_returned() -> None:
    assert "min-insync-racks.patch\tmin.insync.racks" in gradle(["listPatches"], "list", Progress())


def test_without_gradle_the_error_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RackspanError, match="cannot build") as e:
        gradle(["dist"], "nothing", Progress())
    assert e.value.code == Exit.ENVIRONMENT and "apt-get install gradle" in e.value.do


def test_output_of_any_size_does_not_block() -> None:
    text = "import sys; print('x' * 1_000_000); print('reported', file=sys.stderr); raise SystemExit(7)"
    observed: list[str] = []
    done = subprocesses.run([sys.executable, "-c", text], observed.append)
    assert (done.code, len(done.printed), done.reported, observed) == (7, 1_000_001, ("reported",), ["reported"])


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A project that was built once; the list grows by each run of Gradle."""
    runs: list[str] = []
    for name in ("gradle/versions.gradle", SOURCE, TEST, "dist/a.jar"):
        file = tmp_path / ("build" if name.startswith("dist") else ".") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    (tmp_path / "outside.jar").touch()
    (tmp_path / "build/artifacts.json").write_text(json.dumps([{"file": str(tmp_path / "outside.jar")}]))
    monkeypatch.setattr(build, "project_root", lambda: tmp_path)
    monkeypatch.setattr(build, "gradle", lambda tasks, label, progress: runs.append(label))
    build.build(Progress())
    assert len(runs) == 1
    return runs


def test_what_is_up_to_date_is_not_built_again(built: list[str], tmp_path: Path) -> None:
    (tmp_path / TEST).write_text("another test")
    build.build(Progress())
    assert len(built) == 1


@pytest.mark.parametrize("changed", ["gradle/versions.gradle", SOURCE, "build/dist/a.jar"])
def test_a_changed_source_or_output_is_built_again(built: list[str], tmp_path: Path, changed: str) -> None:
    (tmp_path / changed).write_text("changed")
    build.build(Progress())
    assert len(built) == 2


@pytest.mark.parametrize("gone", [SOURCE, "build/dist/a.jar", "outside.jar", "build/up-to-date.json"])
def test_a_missing_file_is_built_again(built: list[str], tmp_path: Path, gone: str) -> None:
    (tmp_path / gone).unlink()
    build.build(Progress())
    assert len(built) == 2


def test_another_compiler_builds_again(built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/another")
    build.build(Progress())
    assert len(built) == 2


def test_a_source_that_changes_during_the_build_is_built_again(
    built: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / SOURCE
    source.write_text("changed")

    def edited(tasks: Sequence[str], label: str, progress: Progress) -> None:
        built.append(label)
        source.write_text(f"changed again, {len(built)}")

    monkeypatch.setattr(build, "gradle", edited)
    build.build(Progress())
    build.build(Progress())
    assert len(built) == 3


def test_packages_leave_the_build_up_to_date(built: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def packaged(tasks: Sequence[str], label: str, progress: Progress) -> str:
        built.append(label)
        (tmp_path / "build/dist/a.deb").write_text("new")
        return "bill.json\na.deb\n"

    monkeypatch.setattr(build, "gradle", packaged)
    assert build.package(Progress()) == [Path("bill.json"), Path("a.deb")]
    build.build(Progress())
    assert len(built) == 2


def test_a_build_that_fails_is_not_noted(built: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(tasks: Sequence[str], label: str, progress: Progress) -> None:
        built.append(label)
        raise RackspanError("gradle dist failed", observed="", do="")

    (tmp_path / SOURCE).write_text("wrong")
    monkeypatch.setattr(build, "gradle", failed)
    for _ in range(2):
        with pytest.raises(RackspanError):
            build.build(Progress())
    assert len(built) == 3
