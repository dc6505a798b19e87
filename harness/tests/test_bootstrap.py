"""The bootstrap script names what is missing; it never half-installs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.cli.system_packages import BUILD
from harness.common.errors import Exit
from harness.common.paths import project_root

_ALL = ("bash", "readlink", "dirname", "id", "grep", "mktemp", "tail", "sha256sum", "cat", "tr")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A PATH with only what every Debian has, and a user who is not root."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in _ALL:
        for place in ("/usr/bin", "/bin"):
            if Path(place, name).exists():
                (folder / name).symlink_to(Path(place, name))
                break
    (folder / "id").unlink()
    (folder / "id").write_text("#!/bin/bash\necho 1000\n")
    (folder / "id").chmod(0o755)
    return folder


def _run(path: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(path), "HOME": os.environ["HOME"]}
    return subprocess.run(
        [str(project_root() / "rackspan"), "ls"], env=env, capture_output=True, text=True, timeout=60, check=False
    )


def test_what_is_missing_is_named_exactly(bare: Path) -> None:
    done = _run(bare)
    assert done.returncode == Exit.ENVIRONMENT
    first, second = done.stderr.splitlines()
    assert first.startswith("missing on this machine: python3 python3-venv python3-dev gcc ")
    named = first.split()[4:]
    assert named[4:] == [p for need in BUILD for p in need.packages if p in named]  # what a build needs, by one message
    assert "gradle" in named and "git" in named
    assert second.startswith("install them (Debian, Ubuntu: sudo apt-get install python3 ")


def test_an_old_python_does_not_count(bare: Path) -> None:
    (bare / "python3").write_text("#!/bin/bash\nexit 1\n")
    (bare / "python3").chmod(0o755)
    assert "missing on this machine: python3 " in _run(bare).stderr


def test_paths_are_those_of_the_callers_folder(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("racks: {a: 1}\ncontroler: 1\n")
    command = [str(project_root() / "rackspan"), "up", "--file", "own.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == Exit.USAGE
    assert (
        "error: own.yaml is not valid\n  observed: no key 'controler'; did you mean 'controller' or 'controllers'?"
        in (done.stderr)
    )
