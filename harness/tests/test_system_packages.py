"""System packages: installed when root may, else named; optional ones are skipped with a remark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import system_packages
from harness.cli.app import app
from harness.cli.system_packages import Need, install
from harness.common.errors import Exit, RackspanError
from harness.common.progress import Progress

APT = """#!/bin/bash
echo "$*" >> "$APT_RECORD"
if [ "$1" = install ]; then
  [ ! -e "$APT_RECORD.refuses" ] || { echo "E: Unable to locate package"; exit 100; }
  for package in "${@:4}"; do printf '#!/bin/sh\\n' > "${0%/*}/$package"; /bin/chmod 755 "${0%/*}/$package"; done
fi
"""


class Notes(Progress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A record of what apt-get was started with, on a machine of root's that has no other program."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "apt-get").write_text(APT)
    (programs / "apt-get").chmod(0o755)
    record = tmp_path / "record"
    record.touch()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("APT_RECORD", str(record))
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(system_packages, "_SYSTEMD", tmp_path / "no-systemd")
    monkeypatch.setattr(system_packages, "_POLICY", tmp_path / "policy")
    return record


def need(*programs: str, without: str = "", service: bool = False) -> Need:
    return Need(programs, system_packages._on_path(*programs), without, service)


def test_what_is_missing_is_installed_at_once_and_only_once(apt: Path) -> None:
    for _ in range(2):
        install([need("tool-a"), need("tool-b")], Progress())
    assert apt.read_text().splitlines() == ["update", "install -y --no-install-recommends tool-a tool-b"]


def test_an_ordinary_user_reads_what_to_install(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(RackspanError) as e:
        install([need("tool-a"), need("tool-b", without="the client in B"), need("tool-c")], Progress())
    assert e.value.code == Exit.ENVIRONMENT
    assert str(e.value) == (
        "this machine lacks what the command needs\n  observed: missing: tool-a tool-c\n"
        "  do:       install them (Debian, Ubuntu: sudo apt-get install tool-a tool-c), or run this command as root"
    )
    assert apt.read_text() == ""


def test_an_ordinary_user_reads_what_is_skipped_and_which_package_is_missing(
    apt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    progress = Notes()
    install([need("tool-b", without="the client in B")], progress)
    assert progress.notes == ["skipped: the client in B; missing: tool-b (Debian, Ubuntu: sudo apt-get install tool-b)"]
    assert apt.read_text() == ""


def test_a_failed_installation_shows_what_apt_printed(apt: Path) -> None:
    apt.with_name("record.refuses").touch()
    with pytest.raises(RackspanError) as e:
        install([need("tool-a")], Progress())
    assert e.value.code == Exit.ENVIRONMENT
    assert str(e.value) == (
        "could not install tool-a\n  observed: E: Unable to locate package\n"
        "  do:       install them by hand and try again"
    )


def test_what_is_optional_is_skipped_with_a_remark(apt: Path) -> None:
    apt.with_name("record.refuses").touch()
    progress = Notes()
    install([need("tool-b", without="the client in B")], progress)
    assert progress.notes == ["skipped: the client in B; could not install tool-b: E: Unable to locate package"]


def test_a_service_is_not_installed_where_it_would_be_started(
    apt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = need("tool-d", without="tests of d", service=True)
    (tmp_path / "no-systemd").mkdir()
    install([served], Progress())
    assert apt.read_text() == ""
    (tmp_path / "no-systemd").rmdir()
    (tmp_path / "bin" / "apt-get").write_text(APT.replace("fi\n", f"  cat {tmp_path}/policy >> $APT_RECORD\nfi\n", 1))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/bin:/usr/bin")
    install([served], Progress())
    assert "exit 101" in apt.read_text() and not (tmp_path / "policy").exists()


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, home: Path) -> list[str]:
    """Packages that are installed, on a machine of root's where all are missing; none of them can be had."""
    installed: list[str] = []

    def refuse(packages: Sequence[str], progress: Progress) -> None:
        installed.extend(packages)
        raise RackspanError("not here", observed="", do="")

    monkeypatch.setattr(system_packages, "_missing", list)
    monkeypatch.setattr(system_packages, "_can_install", lambda: True)
    monkeypatch.setattr(system_packages, "_apt", refuse)
    return installed


@pytest.mark.parametrize(
    "arguments",
    [
        ["bench", "nosuch"],
        ["bench", "quiet", "--nosuch"],
        ["test", "nosuch"],
        ["up", "--racks", "a"],
        ["soak", "--faults", "nosuch"],
        ["verify-base", "nosuch"],
        ["patch", "nosuch"],
        ["nosuch"],
    ],
    ids=" ".join,
)
def test_a_typing_error_installs_nothing(bare: list[str], arguments: list[str]) -> None:
    ran = CliRunner().invoke(app, arguments)
    code = ran.exception.code if isinstance(ran.exception, RackspanError) else ran.exit_code
    assert (code, bare) == (Exit.USAGE, []), ran.output


@pytest.mark.parametrize("arguments", [["--help"], ["test", "--help"], ["ls"], ["down"]], ids=" ".join)
def test_what_needs_no_packages_installs_none(bare: list[str], arguments: list[str]) -> None:
    ran = CliRunner().invoke(app, arguments)
    assert (ran.exit_code, bare) == (Exit.OK, []), ran.output


@pytest.mark.parametrize(
    "arguments", [["test"], ["run"], ["build"], ["verify-base"], ["verify-stock"], ["patch", "list"]], ids=" ".join
)
def test_what_builds_installs_what_a_build_needs(bare: list[str], arguments: list[str]) -> None:
    ran = CliRunner().invoke(app, arguments)
    assert isinstance(ran.exception, RackspanError) and ran.exception.what == "not here"
    assert bare == ["openjdk-17-jdk-headless", "gradle", "git"]


@pytest.mark.parametrize("arguments", [["up"], ["bench", "quiet"], ["soak"]], ids=" ".join)
def test_what_starts_brokers_installs_java(bare: list[str], arguments: list[str]) -> None:
    ran = CliRunner().invoke(app, arguments)
    assert isinstance(ran.exception, RackspanError) and ran.exception.what == "not here"
    assert bare == ["openjdk-17-jdk-headless"]


def test_an_ordinary_user_of_the_tests_reads_of_iptables(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Together with what is required, or by itself: tests of the backend netns are not skipped silently."""

    def begun(progress: Progress) -> None:
        raise RackspanError("the build was begun", observed="", do="")

    monkeypatch.setattr("harness.cli.test.build", begun)
    monkeypatch.setattr(system_packages, "_can_install", lambda: False)
    monkeypatch.setattr(system_packages, "_missing", list)
    error = CliRunner().invoke(app, ["test", "--stage", "harness"]).exception
    assert isinstance(error, RackspanError)
    install = "Debian, Ubuntu: sudo apt-get install"
    assert error.do.startswith(f"install them ({install} openjdk-17-jdk-headless gradle git iptables), or")
    monkeypatch.setattr(system_packages, "_missing", lambda needs: [need for need in needs if need.without])
    ran = CliRunner().invoke(app, ["test", "--stage", "harness"])
    assert isinstance(ran.exception, RackspanError) and ran.exception.what == "the build was begun"
    skipped = f"skipped: clusters of the backend netns; missing: iptables ({install} iptables)"
    assert skipped in " ".join(ran.output.split())
