"""System packages that verbs need beside Python: installed as root on Debian and Ubuntu, else named.

A verb calls `install` after it has checked its options, so that a typing error installs nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.common.errors import RackspanError, environment_error
from harness.common.progress import Progress
from harness.distribution.jdk import use_jdk

_SYSTEMD = Path("/run/systemd/system")
_POLICY = Path("/usr/sbin/policy-rc.d")  # asked by Debian's packages before they start a service
_LOG_LINES = 20
_DEBIAN = "Debian, Ubuntu: sudo apt-get install"


@dataclass(frozen=True)
class Need:
    """Packages, and how their presence is checked. `without` is what is skipped where they are missing; with "" the
    verb cannot run. Packages with a `service` are skipped where something could start it for this machine. `named`: an
    ordinary user reads of them together with what the verb cannot run without.
    """

    packages: tuple[str, ...]
    present: Callable[[], bool]
    without: str = ""
    service: bool = False
    named: bool = False


def _on_path(*programs: str) -> Callable[[], bool]:
    def found() -> bool:
        path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
        return all(shutil.which(program, path=path) for program in programs)

    return found


JAVA = Need(("openjdk-17-jdk-headless",), use_jdk)
BUILD = (JAVA, Need(("gradle",), _on_path("gradle")), Need(("git",), _on_path("git")))
DEBIAN = Need(("dpkg",), _on_path("dpkg-deb"))
NETWORKS = Need(("iptables",), _on_path("iptables"), "clusters of the backend netns", named=True)
CLIENTS = (
    Need(("nodejs", "npm"), _on_path("npm"), "the clients for Node"),
    Need(("golang-go",), _on_path("go"), "the clients in Go"),
    Need(("kcat",), _on_path("kcat"), "the client kcat"),
)
BACKENDS = (
    Need(("openssh-server", "openssh-client"), _on_path("sshd"), "tests of the backend ssh", service=True),
    Need(("docker.io", "iproute2"), _on_path("dockerd"), "tests of the backend docker", service=True),
)
PROMETHEUS = Need(("prometheus",), _on_path("prometheus", "promtool"), "tests of alert rules", service=True)
DEBIAN_TESTS = replace(DEBIAN, without="tests of the Debian package")
DEBIAN_CHECKS = (
    Need(("debootstrap",), _on_path("debootstrap"), "the test that installs the Debian package"),
    Need(("lintian",), _on_path("lintian"), "the check of the Debian package by lintian"),
)
BROWSER = Need(("chromium",), _on_path("chromium"), "the test that opens a report in a browser")


def install(needs: Sequence[Need], progress: Progress) -> None:
    """Installs what is missing. Raises RackspanError (exit code 4) if something is missing without which the verb
    cannot run, and this is not root on Debian, or apt-get fails.
    """
    missing = _missing(needs)
    required = [package for need in missing if not need.without for package in need.packages]
    if not _can_install():
        _name(missing, required, progress)
    elif required:
        _apt(required, progress)
    for need in missing:
        if need.without and _can_install() and not (need.service and _SYSTEMD.is_dir()):
            try:
                with _no_services() if need.service else contextlib.nullcontext():
                    _apt(need.packages, progress)
            except RackspanError as e:
                progress.note(f"skipped: {need.without}; {e.brief}")
    use_jdk()


def _name(missing: Sequence[Need], required: Sequence[str], progress: Progress) -> None:
    """Says to who cannot install packages what is skipped. Raises RackspanError if something is required."""
    if required:
        names = " ".join([*required, *(package for need in missing if need.named for package in need.packages)])
        raise environment_error(
            "this machine lacks what the command needs",
            observed=f"missing: {names}",
            do=f"install them ({_DEBIAN} {names}), or run this command as root",
        )
    for need in missing:
        names = " ".join(need.packages)
        progress.note(f"skipped: {need.without}; missing: {names} ({_DEBIAN} {names})")


def _missing(needs: Sequence[Need]) -> list[Need]:
    return [need for need in needs if not need.present()]


def _can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _apt(packages: Sequence[str], progress: Progress) -> None:
    """Installs packages; what apt-get prints is shown only when it fails."""
    names = " ".join(packages)
    with progress.step(f"system packages: {names}"):
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
            done = subprocess.run(
                ["apt-get", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            )
            if done.returncode:
                raise environment_error(
                    f"could not install {names}",
                    observed="\n".join(done.stdout.splitlines()[-_LOG_LINES:]),
                    do="install them by hand and try again",
                )


@contextlib.contextmanager
def _no_services() -> Iterator[None]:
    """Has packages start no service while they are installed, unless the machine has a policy of its own."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()
