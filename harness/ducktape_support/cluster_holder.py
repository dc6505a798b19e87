"""The process that a shared cluster ends with: it starts the cluster, waits, and ends it with the checks of its end.

python -m harness.ducktape_support.cluster_holder FOLDER PIPE KEY USER TEST < SPEC

It prints the cluster's name when the cluster is ready, or has failed to start. SIGTERM asks it to end the cluster; when
the session is gone, which closes the pipe, it removes the cluster at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.lifecycle import remove
from harness.cluster.waits import READY_SECONDS
from harness.common.errors import RackspanError
from harness.common.process_tree import identity, interrupt
from harness.common.progress import Progress, Update
from harness.ducktape_support.end_checks import ALLOWED, errors_since, shut_down
from harness.ducktape_support.reuse import settings
from harness.ducktape_support.shared_clusters import Failure, SharedCluster
from harness.hosts.host import Process
from harness.recording.log_errors import Allowed, summary
from harness.spec.cluster_spec import ClusterSpec

_session_gone = threading.Event()


class _Lines(Progress):
    """Steps as lines of the holder's log."""

    @contextlib.contextmanager
    def step(self, label: str) -> Iterator[Update]:
        yield lambda text: None
        self.note(label)

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Holds one cluster. The process that is started returns at once; another one, without a parent, is the holder."""
    folder, pipe, key, user, test = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
    spec = ClusterSpec.model_validate_json(sys.stdin.read())
    if os.fork() != 0:
        # Nobody's child: the test that asks for the cluster ends all of its own. It has its answer when stdout closes.
        os._exit(0)
    os.setsid()
    with (folder / f"holder-{os.getpid()}.log").open("w") as log:
        os.dup2(log.fileno(), 2)
    signal.signal(signal.SIGTERM, interrupt)
    threading.Thread(target=_watch, args=(pipe,), daemon=True).start()
    name = f"test-{os.getpid()}-1"
    record = SharedCluster(name=name, key=key, holder=str(Process(*identity())), user=user, tests=[test])
    try:
        _start(folder, record, spec.model_copy(update={"name": name}))
        _answer(name)
        while True:
            signal.pause()
    except KeyboardInterrupt:
        signal.signal(signal.SIGTERM, lambda *_: None)
        if not _session_gone.is_set():
            _end(folder, name)
    finally:
        signal.signal(signal.SIGTERM, lambda *_: None)
        remove(name)


def _start(folder: Path, record: SharedCluster, spec: ClusterSpec) -> None:
    """Brings the cluster up, and records that it is, or why it is not."""
    record.save(folder)
    try:
        kafka = KafkaCluster.up(spec, seconds=READY_SECONDS, progress=_Lines(), tied=True)
        record.settings = settings(kafka)
    except RackspanError as e:
        record.failure = Failure(what=e.what, observed=e.observed, do=e.do, code=int(e.code))
    record.save(folder)


def _answer(name: str) -> None:
    print(name, flush=True)
    with open(os.devnull, "w") as nothing:  # noqa: PTH123  # a name, not a path to look at
        os.dup2(nothing.fileno(), 1)


def _end(folder: Path, name: str) -> None:
    """Shuts the cluster down cleanly and records what was wrong, unless a test has removed it."""
    record = SharedCluster.load(folder / f"{name}.json")
    try:
        kafka = KafkaCluster.open(name, _Lines())
    except RackspanError:
        return
    if record.user or record.failure is not None:
        return
    kafka.backend.enter()
    wrong = shut_down(kafka)
    allowed = (*ALLOWED, *(Allowed(pattern, reason) for pattern, reason in record.allowed))
    errors = list(errors_since(record.marks, kafka, allowed))
    if errors:
        wrong.append(f"error lines that are not allowed: {summary(errors)}")
    if wrong:
        record.violations = wrong
        record.save(folder)


def _watch(pipe: int) -> None:
    """Ends this process when the session is gone: its end of the pipe is the only one that could be written to."""
    os.read(pipe, 1)
    _session_gone.set()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
