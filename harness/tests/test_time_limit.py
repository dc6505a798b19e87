"""The time limit of a test: it fails, tears down, and the next one runs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from harness.common.paths import project_root

TESTS = """
import signal
import threading

import pytest

from harness.common.process_tree import end_on_signals

@pytest.fixture
def cluster():
    end_on_signals()
    yield
    print("torn down")

@pytest.mark.timeout(1)
@pytest.mark.parametrize("wait", [signal.pause, threading.Event().wait])
def test_that_waits_for_ever(cluster, wait):
    wait()

def test_that_comes_next():
    pass
"""


def test_every_test_has_a_limit() -> None:
    options = tomllib.loads((project_root() / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["timeout"] == 300 and options["timeout_method"] == "signal"


def test_a_test_that_waits_for_ever_fails_and_is_torn_down(tmp_path: Path) -> None:
    (tmp_path / "test_waits.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "pyproject.toml", "-s", str(tmp_path)]
    done = subprocess.run(command, cwd=project_root(), capture_output=True, text=True, timeout=120)
    assert done.stdout.count("torn down") == 2
    assert done.stdout.count("Failed: Timeout (>1.0s)") >= 2
    assert "2 failed, 1 passed" in done.stdout
