"""Clusters that the tests of a session share: one for each spec, held by a process of its own until the session ends.

A test takes one and gives it back as it was at first, or it ends it, as every test does that fails. Only one cluster
is kept without a test that uses it: the next test with another spec ends it.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from pydantic import BaseModel

from harness.backends.local import LocalHost
from harness.cluster.lifecycle import remove
from harness.common.atomic_files import write_aside
from harness.common.errors import Exit, RackspanError
from harness.common.paths import locked_wait, project_root
from harness.common.wait import wait_for
from harness.ducktape_support.end_checks import Marks
from harness.ducktape_support.reuse import Settings
from harness.hosts.host import Process, ProcessState
from harness.recording.log_errors import Allowed
from harness.spec.cluster_spec import ClusterSpec

FOLDER = "RACKSPAN_SHARED_CLUSTERS"  # environment of tests: where the records of this session's clusters are
PIPE = "RACKSPAN_SESSION_PIPE"  # and the file descriptor whose other end only the session has
END_SECONDS = 180.0
_HERE = LocalHost("here", "", "")


class Failure(BaseModel):
    """An error in three parts, on its way from one process to another."""

    what: str
    observed: str
    do: str
    code: int

    def error(self) -> RackspanError:
        """The error itself."""
        return RackspanError(self.what, observed=self.observed, do=self.do, code=Exit(self.code))


class SharedCluster(BaseModel):
    """The record of one cluster. `holder` is the process that it ends with, `user` the test process that has it now (0:
    none), `marks` what of its logs is checked.
    """

    name: str
    key: str
    holder: str
    user: int
    tests: list[str]
    settings: Settings | None = None
    failure: Failure | None = None
    allowed: list[tuple[str, str]] = []
    marks: Marks = {}
    violations: list[str] = []

    def save(self, folder: Path) -> None:
        """Writes the record complete or not at all."""
        write_aside(folder / f"{self.name}.json", self.model_dump_json(indent=1) + "\n")

    @classmethod
    def load(cls, file: Path) -> SharedCluster:
        """The record in that file."""
        return cls.model_validate_json(file.read_text(encoding="utf-8"))

    @property
    def held(self) -> bool:
        """Checks whether its holder runs."""
        process = Process.parse(self.holder)
        return process is not None and _HERE.state(process) is not ProcessState.GONE


class SharedClusters:
    """The clusters of one session, as a test process or the session sees them. `pipe` ends their holders."""

    def __init__(self, folder: Path, pipe: int) -> None:
        self.folder = folder
        self.pipe = pipe

    @property
    def environment(self) -> dict[str, str]:
        """Environment by which tests find these clusters."""
        return {FOLDER: str(self.folder), PIPE: str(self.pipe)}

    @classmethod
    def of_session(cls) -> SharedClusters | None:
        """Those of the session that this test runs in; None if it runs without one."""
        folder, pipe = os.environ.get(FOLDER), os.environ.get(PIPE)
        return cls(Path(folder), int(pipe)) if folder and pipe else None

    def records(self) -> list[SharedCluster]:
        """All clusters of the session until now."""
        return [SharedCluster.load(file) for file in sorted(self.folder.glob("*.json"))]

    def take(self, spec: ClusterSpec, test: str) -> SharedCluster:
        """A cluster of that spec that no other test uses now: an idle one, else a new one. Raises RackspanError."""
        key = key_of(spec)
        with locked_wait(self.folder / "lock"):
            idle = [c for c in self.records() if c.key == key and not c.user and c.held]
            if idle:
                cluster = idle[0]
                cluster.user, cluster.tests = os.getpid(), [*cluster.tests, test]
                cluster.save(self.folder)
                return cluster
            self._end_idle()
            return self._start(spec, key, test)

    def give_back(self, cluster: SharedCluster, marks: Marks, allowed: Sequence[Allowed]) -> None:
        """Keeps the cluster for another test. What it logs from the marks on is checked when it ends."""
        cluster.user, cluster.marks = 0, marks
        cluster.allowed = list({*cluster.allowed, *((a.pattern, a.reason) for a in allowed)})
        cluster.save(self.folder)

    def discard(self, cluster: SharedCluster) -> None:
        """Removes a cluster with whatever is left of it."""
        remove(cluster.name)
        _end_holder(cluster)

    def end_idle(self) -> None:
        """Ends clusters that no test uses, before one is started that is not shared."""
        with locked_wait(self.folder / "lock"):
            self._end_idle()

    def close(self) -> list[SharedCluster]:
        """Ends all clusters that are left; returns those that did not end well. For the session, behind all tests."""
        self._end_idle()
        return [c for c in self.records() if c.violations]

    def _end_idle(self) -> None:
        for cluster in self.records():
            if cluster.held and not cluster.user:
                _end_holder(cluster)
            elif cluster.held and not psutil.pid_exists(cluster.user):  # the test was killed
                self.discard(cluster)

    def _start(self, spec: ClusterSpec, key: str, test: str) -> SharedCluster:
        command = [sys.executable, "-m", "harness.ducktape_support.cluster_holder", str(self.folder), str(self.pipe)]
        done = subprocess.run(
            [*command, key, str(os.getpid()), test],
            cwd=project_root(),
            input=spec.model_dump_json(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            pass_fds=(self.pipe,),
        )
        name = done.stdout.strip()
        if not name:
            raise RackspanError(
                "no process could be started that holds a cluster",
                observed=f"exit code {done.returncode}, and it named no cluster",
                do=f"read the logs in {self.folder}",
            )
        return SharedCluster.load(self.folder / f"{name}.json")


@contextmanager
def session_clusters(folder: Path) -> Iterator[SharedClusters]:
    """The clusters of a session, with their records in the folder. Those that are left behind the block are removed."""
    folder.mkdir(parents=True)
    reader, writer = os.pipe()
    clusters = SharedClusters(folder, reader)
    try:
        yield clusters
    finally:
        os.close(writer)
        for cluster in clusters.records():
            _wait_ended(cluster)
        os.close(reader)


def key_of(spec: ClusterSpec) -> str:
    """Hash of a spec but for its name."""
    text = spec.model_copy(update={"name": ""}).model_dump_json()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _end_holder(cluster: SharedCluster) -> None:
    """Lets the holder end its cluster, with the checks of its end, and waits for it. Raises WaitTimeout."""
    process = Process.parse(cluster.holder)
    assert process is not None
    if cluster.held:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
    _wait_ended(cluster)


def _wait_ended(cluster: SharedCluster) -> None:
    wait_for(f"the cluster {cluster.name} to end", lambda: not cluster.held, END_SECONDS, every=0.05)
