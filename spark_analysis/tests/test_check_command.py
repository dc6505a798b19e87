"""The exit code of `check`, and what it prints, where a run cannot be checked."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from spark_analysis.cli import main


def test_without_a_run_there_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert main(["check", "--out", str(tmp_path / "out")]) == 2
    assert "observed: no RUN was named, and stdin has none" in capsys.readouterr().err
