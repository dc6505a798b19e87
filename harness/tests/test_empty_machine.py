"""The empty machine: where its Debian comes from, what its absence says, and what an ordinary user is named."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from harness.common.errors import Exit, RackspanError
from harness.tests.empty_machine import Steps, main, named, succeeded
from harness.tests.machine_root import Ran, make_root, mirror

STANZAS = """Types: deb-src
URIs: http://sources.invalid/debian
Suites: bookworm

# main
Types: deb
URIs: http://mirror.invalid/debian http://second.invalid/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: http://mirror.invalid/debian-security
Suites: bookworm-security
"""


def test_the_mirror_is_the_one_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "debian.sources").write_text(STANZAS)
    assert mirror(tmp_path) == "http://mirror.invalid/debian"
    (tmp_path / "sources.list.d" / "debian.sources").unlink()
    lines = (
        "# deb http://old.invalid/debian bookworm main\ndeb [signed-by=/k] http://other.invalid/debian bookworm main\n"
    )
    (tmp_path / "sources.list").write_text(lines)
    assert mirror(tmp_path) == "http://other.invalid/debian"


def test_a_machine_of_another_release_says_so(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text("deb http://mirror.invalid/ubuntu noble main\n")
    with pytest.raises(RackspanError) as e:
        mirror(tmp_path)
    assert e.value.code == Exit.ENVIRONMENT
    assert str(e.value) == (
        f"cannot make an empty machine of Debian bookworm\n  observed: no source in {tmp_path} has it\n"
        "  do:       run it on Debian bookworm"
    )


def test_without_its_tool_one_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name, path="": None)
    with pytest.raises(RackspanError) as e:
        make_root(tmp_path / "root", tmp_path / "log")
    assert e.value.code == Exit.ENVIRONMENT
    assert str(e.value) == (
        "cannot make an empty machine\n  observed: there is no debootstrap\n"
        "  do:       run it as root on Debian or Ubuntu, with the package debootstrap"
    )
    assert main(["--results", str(tmp_path / "results")]) == Exit.ENVIRONMENT
    assert "there is no debootstrap" in (tmp_path / "results" / "junit.xml").read_text()


def test_an_ordinary_user_installs_what_the_command_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "missing on this machine: python3 git\n"
        "install them (Debian, Ubuntu: sudo apt-get install python3 git), or run this command as root.\n"
    )
    assert named(Ran(Exit.ENVIRONMENT, log)) == ["python3", "git"]
    with pytest.raises(RackspanError, match="does not say what to install"):
        named(Ran(Exit.FAILED, log))


def test_a_step_that_fails_or_does_not_end_is_a_failure_with_its_output(tmp_path: Path) -> None:
    steps = Steps(tmp_path)
    (tmp_path / "output").write_text("first\nthe reason\n")
    with steps.step("root: ./rackspan run"):
        succeeded(Ran(0, tmp_path / "output"), "run")
    for code, observed in ((1, "exit code 1"), (None, "it did not end within 60 s")):
        with pytest.raises(RackspanError), steps.step("root: ./rackspan test"):
            succeeded(Ran(code, tmp_path / "output"), "./rackspan test", 60)
        text = (tmp_path / "junit.xml").read_text()
        assert observed in text and "the reason" in text
    assert 'tests="3"' in text and 'failures="2"' in text
