"""A docker engine for tests, in a network and with process ids of its own; it ends with the tests, even killed ones.

    python -m harness.tests.docker_engine COMMAND...

runs a command where this engine's networks can be reached, with $DOCKER_HOST set. Needs root.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import docker
import docker.errors

from harness.common.process_tree import children, end_with_parent
from harness.common.wait import Pending, wait_for
from harness.network import namespaces
from harness.tests.limits import STUCK
from harness.tests.ssh_machines import is_root

# Packet filter rules would need modules of the kernel; without them the engine routes between its networks.
ENGINE = (
    "ip link set lo up; exec dockerd --data-root {0}/data --exec-root {0}/exec -H unix://{0}/socket -p {0}/pid "
    "--iptables=false --ip-masq=false --bip 198.19.255.1/24 --cgroup-parent {1}"
)


@dataclass(frozen=True)
class Engine:
    """An engine: `where` is the value of DOCKER_HOST, `pid` its process."""

    where: str
    pid: int

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Moves this thread, for the time of a block, to where the engine's networks are reached."""
        here, there = (os.open(f"/proc/{p}/ns/net", os.O_RDONLY) for p in ("thread-self", self.pid))
        namespaces.setns(there, namespaces.CLONE_NEWNET)
        try:
            with namespaces.home_here():
                yield
        finally:
            namespaces.setns(here, namespaces.CLONE_NEWNET)
            os.close(here)
            os.close(there)


def skip_reason() -> str:
    """The reason why this machine and user cannot run an engine for tests; "" if they can."""
    if not is_root():
        return "dockerd needs root"
    missing = [name for name in ("dockerd", "docker", "containerd", "ip") if shutil.which(name) is None]
    return f"no {', '.join(missing)}: install docker.io" if missing else ""


@contextmanager
def engine(folder: Path) -> Iterator[Engine]:
    """An engine for the time of a `with` block."""
    folder.mkdir(parents=True, exist_ok=True)
    group = f"rackspan-{os.getpid()}"
    apart = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*apart, "bash", "-c", ENGINE.format(folder, group)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=lambda: end_with_parent(signal.SIGKILL),
        )
    where = f"unix://{folder}/socket"
    try:
        wait_for("the engine to answer", lambda: _answers(where, process, folder), STUCK, do=f"read {folder / 'log'}")
        pid = children(process.pid)[0]
        yield Engine(where, pid)
        os.kill(pid, signal.SIGTERM)  # a clean shutdown, which unmounts its file systems
        process.wait(30)
    finally:
        process.kill()
        process.wait()
        for left in sorted(Path("/sys/fs/cgroup").glob(f"**/{group}"), reverse=True):
            with suppress(OSError):
                left.rmdir()
        shutil.rmtree(folder / "data", ignore_errors=True)


def _answers(where: str, process: subprocess.Popen[bytes], folder: Path) -> bool | Pending:
    if process.poll() is not None:
        raise RuntimeError((folder / "log").read_text(errors="replace")[-500:])
    try:
        found = docker.DockerClient(base_url=where)
        found.ping()
        found.close()
    except docker.errors.DockerException as e:
        return Pending(str(e)[:200])
    return True


def main() -> int:
    """Runs the command and returns its exit code."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rackspan-engine-"))
        found = stack.enter_context(engine(Path(folder)))
        stack.enter_context(found.entered())
        return subprocess.run(sys.argv[1:], env={**os.environ, "DOCKER_HOST": found.where}).returncode


if __name__ == "__main__":
    sys.exit(main())
