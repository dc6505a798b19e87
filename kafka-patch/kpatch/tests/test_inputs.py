"""When a complete build may take the classes that are there: only if they were made of the same."""

from pathlib import Path

import pytest

from kpatch import cli, compile, paths, series, upstream, worktree
from kpatch.errors import KpatchError


def test_classes_are_made_anew_only_if_something_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    reported = iter(("one", "one", "two", "two"))

    def compile_tree(tree: Path, out: Path, *rest: object, **more: object) -> None:
        out.mkdir(exist_ok=True)
        made.append(out.name)

    def build(tree: Path, *rest: object) -> None:
        tree.mkdir()

    monkeypatch.setattr(compile, "inputs", lambda: next(reported))
    monkeypatch.setattr(compile, "compile_tree", compile_tree)
    monkeypatch.setattr(worktree, "build", build)
    monkeypatch.setattr(series, "read_series", lambda folder: [])
    up = upstream.Upstream("Kafka", "1", "2.13", 1, ())
    for expected in (1, 1, 2):
        cli._compile_module(up, tmp_path / "src", tmp_path / "classes")
        assert len(made) == expected
    (tmp_path / "src").rmdir()
    cli._compile_module(up, tmp_path / "src", tmp_path / "classes")
    assert len(made) == 3, "the sources are gone, which the assembly needs"


def test_what_classes_are_made_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    patches = tmp_path / "patches"
    patches.mkdir()
    (tmp_path / "upstream.toml").write_text('version = "1"\n')
    monkeypatch.setattr(paths, "KAFKA_PATCH", tmp_path)
    monkeypatch.setattr(paths, "PATCHES", patches)
    monkeypatch.setattr(paths, "OWN", tmp_path / "own")
    artifact = upstream.Artifact("g", "n", "1", "", (), "0" * 64, tmp_path / "n.jar")
    monkeypatch.setattr(upstream, "artifacts", lambda role: [artifact])
    first = compile.inputs()
    assert compile.inputs() == first
    (patches / "p.patch").write_text("x")
    second = compile.inputs()
    (patches / "p.patch").write_text("y")
    third = compile.inputs()
    (tmp_path / "upstream.toml").write_text('version = "2"\n')
    assert len({first, second, third, compile.inputs()}) == 4


def test_warnings_of_a_jvm_are_not_part_of_its_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("javac", "java"):
        program = programs / name
        program.write_text('#!/bin/sh\necho "[$$] warning: no time" >&2\necho "javac 17.0.15"\n')
        program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(upstream, "artifacts", lambda role: [])
    assert compile.javac_version() == "17.0.15"
    assert compile.inputs() == compile.inputs()
    (programs / "javac").write_text("#!/bin/sh\necho no memory >&2\nexit 1\n")
    with pytest.raises(KpatchError, match="javac -version failed") as failed:
        compile.inputs()
    assert "exit code 1: no memory" in str(failed.value)
