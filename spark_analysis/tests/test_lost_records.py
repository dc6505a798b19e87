"""Acknowledged records against a cluster: the exit code. harness/tests/test_read_back.py has a real cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_analysis.cli import main
from spark_analysis.errors import FAILED, OK, UNKNOWN
from spark_analysis.lost_records import exit_code
from spark_analysis.tests.generated import folder


@pytest.mark.parametrize(
    ("state", "acknowledged", "lost", "code"),
    [
        ("checked", 100, 0, OK),
        ("checked", 100, 1, FAILED),
        ("checked in part", 100, 1, FAILED),
        ("checked in part", 100, 0, UNKNOWN),
        ("not checked", 100, 0, UNKNOWN),
        ("checked", 0, 0, UNKNOWN),
    ],
)
def test_records_that_were_not_compared_are_not_well(state: str, acknowledged: int, lost: int, code: int) -> None:
    assert exit_code({"state": state, "totals": {"acknowledged": acknowledged, "lost": lost}}) == code


def test_a_run_without_records_has_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder(tmp_path / "run", acks=[], events=[])
    assert main(["lost", str(run), "--bootstrap", "127.0.0.1:1", "--master", "local[1]"]) == UNKNOWN
    assert "nothing to compare" in capsys.readouterr().err
