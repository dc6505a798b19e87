"""Second attempts of pytest: what passes then is counted as passed and named, what fails again is a failure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import test_counts
from harness.cli.second_attempts import OPTIONS, flaky
from harness.cli.test import report_failures
from harness.cli.test_counts import Counts

TESTS = """
from pathlib import Path

import pytest


def once(name):
    file = Path(__file__).with_name(name)
    there = file.exists()
    file.touch()
    return there


@pytest.fixture
def made():
    assert once("made")


def test_passes_then():
    assert once("called")


def test_is_made_then(made):
    pass


def test_fails_again():
    print("PASSED test_made.py::test_fails_again")
    assert False


def test_passes():
    pass


@pytest.mark.timeout(1)
def test_takes_too_long():
    import time

    time.sleep(0 if once("late") else 60)
"""


def test_a_test_that_passes_at_the_second_attempt_is_counted_and_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, results, log = tmp_path / "test_made.py", tmp_path / "results", tmp_path / "logs" / "made.log"
    file.write_text(TESTS)
    log.parent.mkdir()
    command = [sys.executable, "-m", "pytest", "-q", *OPTIONS, "-p", "no:cacheprovider", file.name]
    with log.open("w") as out:
        report = f"--junitxml={results / 'junit.xml'}"
        done = subprocess.run([*command, report], cwd=tmp_path, stdout=out, timeout=120)
    assert done.returncode == 1
    assert 'assert once("called")' in log.read_text(), "why it failed first"
    assert flaky(log) == ["test_made.py::test_passes_then", "test_made.py::test_is_made_then"]
    assert test_counts.count(results) == Counts(3, 2, 0), "a test that reached its time limit is not tried again"
    report_failures(tmp_path)
    named = [line for line in capfd.readouterr().err.splitlines() if line.startswith("FLAKY ")]
    assert named == ["FLAKY test_made.py::test_passes_then", "FLAKY test_made.py::test_is_made_then"]
