"""Entering and making namespaces of the kernel, for the calling thread and the threads that it starts later."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.common.errors import RackspanError, environment_error

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
_NET_ADMIN, _SYS_ADMIN = 12, 21  # bits of a capability set
_RESTARTED = "RACKSPAN_RESTARTED"

_libc = ctypes.CDLL(None, use_errno=True)
_home: list[int] = []  # the network of this process before it entered another
may_restart = False  # set by the command, which loses nothing when it begins again


def unshare(flags: int) -> None:
    """New namespaces for this thread. Raises OSError."""
    if _libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), f"unshare: {os.strerror(ctypes.get_errno())}")


def setns(fd: int, kind: int) -> None:
    """Moves this thread into a namespace. Raises OSError."""
    if _libc.setns(fd, kind) != 0:
        raise OSError(ctypes.get_errno(), f"setns: {os.strerror(ctypes.get_errno())}")


def same(one: str | Path, other: str | Path) -> bool:
    """True if two files of /proc/PID/ns are the same namespace. Raises OSError if a process is gone."""
    a, b = Path(one).stat(), Path(other).stat()
    return (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)


def network() -> tuple[int, int]:
    """Identity of the network that this thread is in."""
    found = Path("/proc/thread-self/ns/net").stat()
    return found.st_dev, found.st_ino


def enter_network(path: str) -> None:
    """Moves this thread into a network that it has the right to. Raises OSError."""
    if same(path, "/proc/thread-self/ns/net"):
        return
    if not _home:
        _home.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
    _enter(path, CLONE_NEWNET)


@contextmanager
def home_here() -> Iterator[None]:
    """For the time of a block the network that this thread is in counts as where the process began."""
    before = list(_home)
    _home[:] = [os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)]
    try:
        yield
    finally:
        os.close(_home[0])
        _home[:] = before


def leave_network() -> None:
    """Moves this thread back to where the process began. Raises RackspanError where that is not allowed."""
    if not _home or same(f"/proc/self/fd/{_home[0]}", "/proc/thread-self/ns/net"):
        return
    try:
        setns(_home[0], CLONE_NEWNET)
    except PermissionError as e:
        raise environment_error(
            "this process cannot leave the network of a cluster",
            observed=f"{e.strerror}: an ordinary user gave up the network outside by entering",
            do="work with clusters of the backend local in a process of their own",
        ) from e


def capable() -> bool:
    """True if this process may make networks and enter them."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            held = int(line.split()[1], 16)
            return bool(held >> _NET_ADMIN & 1) and bool(held >> _SYS_ADMIN & 1)
    return False


def user_prefix() -> list[str]:
    """The beginning of a command line that gives the rest these rights; nothing where they are there."""
    return [] if capable() else ["unshare", "--user", "--map-root-user", "--"]


def become_capable(user_namespace: str | None = None) -> None:
    """Gives this process the rights over networks: none needed for root, else in a user namespace of its own, or in the
    given one (a file of /proc) where a cluster was made.

    The command begins again inside it if it has threads by now. Raises RackspanError (exit code 4).
    """
    if user_namespace is not None:
        if not same(user_namespace, "/proc/self/ns/user"):
            _with_user(user_namespace)
    elif not capable():
        _with_user(None)


def _with_user(path: str | None) -> None:
    uid, gid = os.geteuid(), os.getegid()
    try:
        if path is not None:
            _enter(path, CLONE_NEWUSER)
            return
        unshare(CLONE_NEWUSER)
    except OSError as e:
        if len(list(Path("/proc/self/task").iterdir())) == 1:
            raise refused(str(e.strerror)) from e
        _restart(path)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def _restart(path: str | None) -> None:
    """Begins the program again inside the user namespace; returns only by raising."""
    if not may_restart or os.environ.get(_RESTARTED):
        raise environment_error(
            "cannot enter a user namespace",
            observed="this process has several threads, and an ordinary user can enter with one only",
            do="start the program with `unshare --user --map-root-user PROGRAM`, or as root",
        )
    sys.stdout.flush()
    sys.stderr.flush()
    prefix = user_prefix() if path is None else ["nsenter", f"--user={path}", "--preserve-credentials", "--"]
    os.execvpe(prefix[0], [*prefix, *sys.orig_argv], {**os.environ, _RESTARTED: "1"})


def refused(observed: str) -> RackspanError:
    """The kernel does not let this user make namespaces."""
    return environment_error(
        "this machine does not let this user make network namespaces",
        observed=observed,
        do="run as root, or allow user namespaces (see kernel.apparmor_restrict_unprivileged_userns, "
        "user.max_user_namespaces), or use the backend local",
    )


def _enter(path: str, kind: int) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        setns(fd, kind)
    finally:
        os.close(fd)
