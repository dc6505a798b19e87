"""The class archive: leftovers of an interrupted build of it, and a cluster without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.backends.local import MARKER, LocalHost
from harness.cluster import class_archive
from harness.common.paths import locked
from harness.common.progress import Progress
from harness.distribution.locate import Distribution
from harness.hosts.host import ProcessState


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_archive, "project_root", lambda: tmp_path)


def test_processes_of_an_interrupted_build_of_the_archive_are_ended(tmp_path: Path) -> None:
    folder = tmp_path / "build" / "cds" / "stock-1.making"
    host = LocalHost("x", "127.0.0.1", str(folder))
    process = host.start(["sleep", "60"], pid_file=f"{folder}/pid", output=f"{folder}/out", env={MARKER: str(folder)})
    with locked(tmp_path / "build" / "cds" / "lock", busy="being made"):
        class_archive.clear()  # the lock says that it is still being made
        assert host.state(process) is ProcessState.RUNNING
    class_archive.clear()
    assert host.state(process) is ProcessState.GONE
    assert not folder.exists()


class Notes(Progress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_nodes_start_without_the_archive_if_it_cannot_be_made(tmp_path: Path) -> None:
    home = tmp_path / "stock-kafka"
    (home / "bin").mkdir(parents=True)
    tool = home / "bin" / "kafka-storage.sh"
    tool.write_text("#!/bin/sh\necho 'no space left' >&2\nexit 1\n")
    tool.chmod(0o755)
    notes = Notes()
    assert class_archive.archive_for(Distribution(home), notes) is None
    assert len(notes.notes) == 1
    assert notes.notes[0].startswith("no class archive, nodes start slower: `")
    assert notes.notes[0].endswith("failed on class archive; exit code 1: no space left")
    assert list((tmp_path / "build" / "cds").glob("*.making")) == []
