"""Locks and address blocks."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from harness.common import paths
from harness.common.errors import Exit, RackspanError


@pytest.fixture(autouse=True)
def own_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


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
