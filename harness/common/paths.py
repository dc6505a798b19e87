"""Paths of the project and of the state home with its clusters, and the blocks of loopback addresses."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from harness.common.errors import RackspanError, environment_error

BLOCKS = range(77, 127)
RESERVING_PORT = 7719
_reserved: dict[int, socket.socket] = {}  # what this process holds while the nodes of a block do not listen yet


def project_root() -> Path:
    """The folder that holds harness/ and build/."""
    return Path(__file__).resolve().parents[2]


def state_home() -> Path:
    """$RACKSPAN_HOME, or .rackspan in the project."""
    given = os.environ.get("RACKSPAN_HOME")
    return Path(given).resolve() if given else project_root() / ".rackspan"


def clusters_folder() -> Path:
    """Holds one folder a cluster."""
    return state_home() / "clusters"


@contextlib.contextmanager
def locked(path: Path, *, busy: str) -> Iterator[None]:
    """Holds an exclusive lock, at most as long as this process runs. Raises RackspanError if it is taken."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            f.seek(0)
            raise RackspanError(
                busy, observed=f"process {f.read().strip() or 'unknown'} is at work on it", do="wait until it has ended"
            ) from None
        f.truncate(0)
        f.write(str(os.getpid()))
        f.flush()
        yield


@contextlib.contextmanager
def locked_wait(path: Path) -> Iterator[None]:
    """Holds an exclusive lock, waiting for whoever has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def claim_block(owner: Path, endpoints: Mapping[int, Iterable[tuple[str, int]]] | None = None) -> int:
    """The lowest block 127.N that no other cluster owns, recorded for `owner` until release_block.

    `endpoints` maps a block to the (address, port) pairs that will be listened on: a block where one is taken is passed
    over. Claims are recorded per user, not per state home, so that clusters of two checkouts do not meet. While nothing
    listens yet, a bound address keeps off those who cannot read the record: other users, and other roots in the same
    network. Raises RackspanError.
    """
    folder = _claims()
    folder.mkdir(parents=True, exist_ok=True)
    with locked_wait(folder / "lock"):
        for block in BLOCKS:
            claim = folder / str(block)
            if claim.exists() and Path(claim.read_text()).exists():
                continue
            if _reserve(block, (endpoints or {}).get(block, ())):
                claim.write_text(str(owner))
                return block
    raise environment_error(
        "no block of loopback addresses is free",
        observed=f"127.{BLOCKS[0]} to 127.{BLOCKS[-1]} are all owned by clusters or listened on",
        do="end clusters with `rackspan down --all`",
    )


def block_owner(block: int) -> Path | None:
    """The folder that the block is claimed for; None if there is none."""
    claim = _claims() / str(block)
    return Path(claim.read_text()) if claim.exists() else None


def release_block(owner: Path, block: int) -> None:
    """Gives the block back if `owner` holds it."""
    claim = _claims() / str(block)
    with contextlib.suppress(FileNotFoundError):
        if claim.read_text() == str(owner):
            claim.unlink()
            if block in _reserved:
                _reserved.pop(block).close()


def _claims() -> Path:
    return Path(tempfile.gettempdir()) / f"rackspan-blocks-{_user()}"


def _user() -> int:
    """This user's id, as it is outside of a user namespace that the process may be in."""
    me = os.getuid()
    for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines():
        inside, outside, count = (int(part) for part in line.split())
        if inside <= me < inside + count:
            return outside + me - inside
    return me


def _reserve(block: int, endpoints: Iterable[tuple[str, int]]) -> bool:
    """Binds the address that reserves a block, until it is released or this process ends; False if it is not free."""
    if block in _reserved:  # for an owner that is gone
        _reserved.pop(block).close()
    mark = socket.socket()
    try:
        mark.bind((f"127.{block}.255.254", RESERVING_PORT))
    except OSError as e:
        mark.close()
        if e.errno == errno.EADDRINUSE:
            return False
        return all(_free(*endpoint) for endpoint in endpoints)  # a network without loopback addresses has no one else
    if not all(_free(*endpoint) for endpoint in endpoints):
        mark.close()
        return False
    _reserved[block] = mark
    return True


def _free(address: str, port: int) -> bool:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((address, port))
        except OSError:
            return False
    return True
