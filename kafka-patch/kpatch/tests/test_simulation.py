"""`gradle simulate`: its arguments, what it compiles and starts, and its failure."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import pytest

from kpatch import cli, dist, junit, paths, simulation, upstream
from kpatch import compile as compiler
from kpatch.errors import KpatchError


@pytest.mark.parametrize(
    ("text", "expected"), [("1000", (0, 999)), ("7..7", (7, 7)), ("1000..999999", (1000, 999_999))]
)
def test_seeds_are_a_range_or_a_count(text: str, expected: tuple[int, int]) -> None:
    assert simulation.seeds(text) == expected


@pytest.mark.parametrize("text", ["", "-1", "1..", "a..b", "1-2"])
def test_other_seeds_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(KpatchError, match=r"neither FROM\.\.TO nor COUNT[\s\S]*-Pseeds=0\.\.9999"):
        simulation.seeds(text)


def test_the_simulation_is_compiled_without_its_tests_and_started_with_its_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    started: list[list[str]] = []

    def compile_strict(what: str, sources: list[Path], target: Path, path: list[Path]) -> None:
        compiled.extend(source.name for source in sources)

    def run(command: list[str], **more: object) -> subprocess.CompletedProcess[bytes]:
        started.append(command)
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(junit, "classpath", lambda libs: [libs / "kafka.jar"])
    monkeypatch.setattr(compiler, "compile_strict", compile_strict)
    monkeypatch.setattr(compiler, "tools", lambda: compiler.Tools("javac", "java", ()))
    monkeypatch.setattr(subprocess, "run", run)
    assert simulation.run(tmp_path / "libs", tmp_path, (7, 9), "CRASH", "each") == 1
    assert {"SimulatedController.java", "Simulate.java"} <= set(compiled)
    assert not [name for name in compiled if name.endswith("Test.java")]
    assert started[0][-5:] == ["io.rackspan.simulation.Simulate", "7", "9", "CRASH", "each"]


def test_a_violation_is_a_failure_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    up = upstream.Upstream("Kafka", "1", "2.13", 1, ())
    args = argparse.Namespace(out=tmp_path, seeds="3", perils="", rules="")
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    with pytest.raises(KpatchError, match=r"nothing to simulate[\s\S]*gradle dist"):
        cli._simulate(up, args)
    (tmp_path / "dist" / dist.name(up, "rackspan") / "libs").mkdir(parents=True)
    played: list[tuple[int, int]] = []

    def run(libs: Path, out: Path, seeds: tuple[int, int], perils: str, rules: str) -> int:
        played.append(seeds)
        return len(played) - 1

    monkeypatch.setattr(simulation, "run", run)
    cli._simulate(up, args)
    with pytest.raises(KpatchError, match=r"the simulation failed[\s\S]*Read the line or the shortened history above"):
        cli._simulate(up, args)
    assert played == [(0, 2), (0, 2)]
