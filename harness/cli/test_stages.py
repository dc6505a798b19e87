"""Work in named stages, each a program with a log of its own, summed up in the end."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.common.errors import RackspanError
from harness.common.paths import project_root
from harness.common.process_tree import end_with_parent
from harness.common.progress import Progress, Update
from harness.common.task_group import TaskGroup

_TAIL = 60


@dataclass(frozen=True)
class Stage:
    """One program of a sequence. `results` is a folder in which it leaves JUnit XML files, however deep."""

    name: str
    command: Sequence[str]
    results: Path | None = None


@dataclass(frozen=True)
class Counts:
    """How many tests passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


def run(stages: Sequence[Stage], logs: Path, progress: Progress, jobs: int = 1) -> Counts:
    """Runs all stages, up to `jobs` at a time in the order given, the later ones too when one fails; output goes to
    `logs/<stage>.log`.

    A stage without counts is one test; one that ends badly without a failed test of its own has one failure.
    """
    logs.mkdir(parents=True, exist_ok=True)
    running = TaskGroup(subprocess.Popen[str].terminate)  # each ends its own clusters before it ends
    with running.threads(jobs) as pool:
        done = [pool.submit(_counted_run, stage, logs, progress, running) for stage in stages]
        return sum((future.result() for future in done), Counts())


@contextlib.contextmanager
def _program(command: Sequence[str], running: TaskGroup[subprocess.Popen[str]]) -> Iterator[subprocess.Popen[str]]:
    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=project_root(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            process_group=0,  # Ctrl-C reaches us alone: a second signal would break off what the first one tears down
            preexec_fn=partial(end_with_parent, signal.SIGTERM),
        )

    with running.member(start) as process:
        try:
            yield process
        except BaseException:
            process.terminate()
            raise
        finally:
            process.wait()


def _counted_run(stage: Stage, logs: Path, progress: Progress, running: TaskGroup[subprocess.Popen[str]]) -> Counts:
    begin = time.time()
    log = logs / f"{stage.name.replace(' ', '-')}.log"
    failure = None
    try:
        with progress.step(stage.name) as update:
            _execute(stage, log, update, running)
    except RackspanError as e:
        failure = e
    counted = count(stage.results, since=begin) if stage.results else Counts()
    reported = []
    if failure:
        reported.append(f"{failure.what} failed, {failure.observed}\n  complete log: {log}")
        counted += Counts(failed=0 if counted.failed else 1)
    elif stage.results is None:
        counted = Counts(passed=1)
    elif counted == Counts():
        reported.append(f"{stage.name} left no results in {stage.results}")
        counted = Counts(failed=1)
    progress.note("\n  ".join([*reported, f"{stage.name}: {counted}"]))
    return counted


def _execute(stage: Stage, log: Path, update: Update, running: TaskGroup[subprocess.Popen[str]]) -> None:
    with log.open("w") as out, _program(stage.command, running) as process:
        assert process.stdout is not None
        for line in process.stdout:
            out.write(line)
            out.flush()
            if line.strip():
                update(line.strip())
        code = process.wait()
    if code and running.ended:
        raise CancelledError
    if code:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL:])
        raise RackspanError(stage.name, observed=f"exit code {code}\n{tail}", do=f"see {log}")


def count(folder: Path, since: float = 0.0) -> Counts:
    """Sums the JUnit XML files below a folder that were written after `since` (seconds since the epoch)."""
    total = Counts()
    for file in sorted(folder.rglob("*.xml")):
        # `latest` links of ducktape lead to the same files once more.
        if file.stat().st_mtime >= since and file.resolve() == folder.resolve() / file.relative_to(folder):
            total += _junit(file)
    return total


def _junit(file: Path) -> Counts:
    root = ElementTree.parse(file).getroot()
    total = Counts()
    for suite in [root] if root.tag == "testsuite" else root.iter("testsuite"):
        tests, failures, errors, skipped = (int(suite.get(k, 0)) for k in ("tests", "failures", "errors", "skipped"))
        total += Counts(tests - failures - errors - skipped, failures + errors, skipped)
    return total
