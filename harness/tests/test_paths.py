"""Locks and address blocks."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.common import paths
from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root


@pytest.fixture(autouse=True)
def own_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Records of claims of the test's own; what it reserves is given back, and nobody else is in its way."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(paths, "RESERVING_PORT", free_port())
    monkeypatch.setattr(paths, "_reserved", {})
    yield
    for mark in paths._reserved.values():
        mark.close()


def free_port() -> int:
    """A port that nobody listens on, on any address."""
    with socket.create_server(("", 0)) as server:
        return int(server.getsockname()[1])


def owner(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    return folder


def test_owners_get_blocks_of_their_own_until_they_give_them_back(tmp_path: Path) -> None:
    one, two, three = (owner(tmp_path, n) for n in ("one", "two", "three"))
    assert [paths.claim_block(one), paths.claim_block(two)] == [77, 78]
    paths.release_block(two, 77)  # not its own
    assert paths.claim_block(three) == 79
    paths.release_block(one, 77)
    assert paths.claim_block(owner(tmp_path, "four")) == 77


def test_the_block_of_an_owner_that_is_gone_is_free_again(tmp_path: Path) -> None:
    gone = owner(tmp_path, "gone")
    paths.claim_block(gone)
    gone.rmdir()
    assert paths.claim_block(owner(tmp_path, "next")) == 77


def test_a_block_where_somebody_listens_is_passed_over(tmp_path: Path) -> None:
    with socket.create_server(("127.120.9.9", 0)) as server:
        taken = server.getsockname()
        assert paths.claim_block(owner(tmp_path, "one"), {77: [taken], 78: []}) == 78


CLAIM = """
import sys
from pathlib import Path
from harness.common import paths
paths.RESERVING_PORT = int(sys.argv[2])
print(paths.claim_block(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


def test_claims_with_temporary_folders_of_their_own_get_blocks_of_their_own(tmp_path: Path) -> None:
    """As of two roots that share the machine's network: neither sees the other's record, and no node listens yet."""
    others = []
    for number in range(4):
        own = owner(tmp_path, f"root{number}")
        command = [sys.executable, "-c", CLAIM, str(own), str(paths.RESERVING_PORT)]
        pipe = subprocess.PIPE
        env = {**os.environ, "TMPDIR": str(own)}
        others.append(subprocess.Popen(command, cwd=project_root(), env=env, stdin=pipe, stdout=pipe, text=True))
    try:
        assert all(other.stdout is not None for other in others)
        blocks = [int(other.stdout.readline()) for other in others if other.stdout]
        blocks.append(paths.claim_block(owner(tmp_path, "here")))
        assert sorted(blocks) == [77, 78, 79, 80, 81]
    finally:
        for other in others:
            other.communicate()
    assert paths.claim_block(owner(tmp_path, "next")) == min(set(range(77, 83)) - {blocks[-1]})


def test_a_reserved_address_is_free_again_once_the_block_is_released(tmp_path: Path) -> None:
    one = owner(tmp_path, "one")
    for _ in range(2):
        assert paths.claim_block(one) == 77
        assert not paths._free("127.77.255.254", paths.RESERVING_PORT)
        paths.release_block(one, 77)
        assert paths._free("127.77.255.254", paths.RESERVING_PORT)


def test_no_block_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "BLOCKS", range(77, 78))
    paths.claim_block(owner(tmp_path, "one"))
    with pytest.raises(RackspanError) as e:
        paths.claim_block(owner(tmp_path, "two"))
    assert e.value.what == "no block of loopback addresses is free"
    assert e.value.do == "end clusters with `rackspan down --all`"
    assert e.value.code == Exit.ENVIRONMENT


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    with paths.locked(tmp_path / "lock", busy="cluster 'lab' is busy"):
        with pytest.raises(RackspanError) as e, paths.locked(tmp_path / "lock", busy="cluster 'lab' is busy"):
            pass
        assert e.value.what == "cluster 'lab' is busy"
        assert e.value.observed.startswith("process ") and "unknown" not in e.value.observed
    with paths.locked(tmp_path / "lock", busy="cluster 'lab' is busy"):
        pass
