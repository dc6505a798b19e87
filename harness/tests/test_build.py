"""Builds through Gradle: the output, and the errors."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from harness.common import subprocesses
from harness.common.errors import Exit, RackspanError
from harness.common.progress import Progress
from harness.distribution.build import gradle

needs_gradle = pytest.mark.skipif(shutil.which("gradle") is None, reason="no gradle on this machine")


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
