"""Hard links, and copies where there can be none."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from harness.common.hard_links import link_or_copy

SHARED_MEMORY = Path("/dev/shm")  # a device of its own on every Linux


def test_a_second_name_takes_no_space(tmp_path: Path) -> None:
    (tmp_path / "jar").write_text("classes")
    link_or_copy(tmp_path / "jar", tmp_path / "same")
    assert (tmp_path / "same").samefile(tmp_path / "jar")


def test_a_file_is_copied_to_another_device(tmp_path: Path) -> None:
    if not SHARED_MEMORY.is_dir() or SHARED_MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one device only")
    (tmp_path / "jar").write_text("classes")
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as far:
        link_or_copy(tmp_path / "jar", Path(far, "copy"))
        assert Path(far, "copy").read_text() == "classes"


def test_other_errors_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError):
        link_or_copy(tmp_path / "absent", tmp_path / "copy")

    def full(source: object, target: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    (tmp_path / "jar").write_text("classes")
    with pytest.raises(OSError, match="No space left"):
        link_or_copy(tmp_path / "jar", tmp_path / "copy")
