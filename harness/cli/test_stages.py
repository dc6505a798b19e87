"""Work in named stages, each a program with a log, a time limit and its processor time, summed up in the end."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from harness.cli import test_counts
from harness.cli.stage_admission import Admission
from harness.cli.test_counts import CaseTime, Counts
from harness.common.errors import RackspanError
from harness.common.paths import project_root
from harness.common.process_tree import end_with_parent
from harness.common.progress import Progress, Update
from harness.common.task_group import TaskGroup

_TAIL = 60


@dataclass(frozen=True)
class Stage:
    """One program of a sequence. `results` is a folder in which it leaves JUnit XML files, however deep.

    One that is not over after `limit` seconds is ended, and has `teardown` seconds for that before it is killed.
    """

    name: str
    command: Sequence[str]
    results: Path | None = None
    limit: float = 3600.0
    teardown: float = 120.0


@dataclass(frozen=True)
class StageResult:
    """One stage that ran: its tests, and its seconds by the clock and of processor time."""

    name: str
    counts: Counts
    wall_seconds: float
    cpu_seconds: float
    tests: tuple[CaseTime, ...] = ()


def total(results: Sequence[StageResult]) -> Counts:
    """The counts of all stages together."""
    return sum((r.counts for r in results), Counts())


def run(stages: Sequence[Stage], logs: Path, progress: Progress, jobs: int = 1, extra: int = 0) -> list[StageResult]:
    """Runs all stages in the order given, the later ones too when one fails; output goes to `logs/<stage>.log`.

    `jobs` run at a time, and up to `extra` more while the processors are idle.

    A stage without counts is one test; one that ends badly without a failed test of its own has one failure.
    """
    logs.mkdir(parents=True, exist_ok=True)
    running = TaskGroup(_Program.end)  # each ends its own clusters before it ends
    admission = Admission(jobs, extra)

    def admitted(stage: Stage) -> StageResult:
        with admission.place(lambda: running.ended):
            return _measured_run(stage, logs, progress, running)

    with running.threads(jobs + extra) as pool:
        return [future.result() for future in [pool.submit(admitted, stage) for stage in stages]]


class _Program:
    """A stage's process, which waits for what its command leaves behind."""

    def __init__(self, stage: Stage, cpu: Path) -> None:
        self.limit_reached = False
        self._teardown = stage.teardown
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.cli.stage_process", str(cpu), *stage.command],
            cwd=project_root(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            process_group=0,  # Ctrl-C reaches us alone: a second signal would break off what the first one tears down
            preexec_fn=partial(end_with_parent, signal.SIGTERM),
        )
        self._timers = [self._later(stage.limit, self._reach_limit)]

    def end(self) -> None:
        """Asks the stage to end; what is left of it after the time for its teardown is killed."""
        self.process.terminate()
        self._timers.append(self._later(self._teardown, self._kill))

    def close(self) -> None:
        """Waits for the end."""
        self.process.wait()
        for timer in self._timers:
            timer.cancel()

    def _later(self, seconds: float, then: Callable[[], None]) -> threading.Timer:
        timer = threading.Timer(seconds, then)
        timer.daemon = True
        timer.start()
        return timer

    def _reach_limit(self) -> None:
        self.limit_reached = True
        self.end()

    def _kill(self) -> None:
        if self.process.poll() is not None:
            return  # its number may be another process' by now
        with contextlib.suppress(psutil.NoSuchProcess):
            adopter = psutil.Process(self.process.pid)
            for _ in range(3):  # what forks meanwhile is found the next time
                for process in (found := adopter.children(recursive=True)):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
                psutil.wait_procs(found, timeout=5)
        self.process.kill()


@contextlib.contextmanager
def _program(stage: Stage, cpu: Path, running: TaskGroup[_Program]) -> Iterator[_Program]:
    with running.member(lambda: _Program(stage, cpu)) as program:
        try:
            yield program
        except BaseException:
            program.end()
            raise
        finally:
            program.close()


def _measured_run(stage: Stage, logs: Path, progress: Progress, running: TaskGroup[_Program]) -> StageResult:
    begin, started = time.time(), time.monotonic()
    log = logs / f"{stage.name.replace(' ', '-')}.log"
    cpu = log.with_suffix(".cpu")
    failure = None
    tests: list[CaseTime] = []
    counted = Counts()
    try:
        with progress.step(stage.name) as update:
            _execute(stage, log, cpu, update, running)
    except RackspanError as e:
        failure = e
    wall = time.monotonic() - started
    try:
        if stage.results:
            counted = test_counts.count(stage.results, begin)
            tests = test_counts.times(stage.results, begin)
    except RackspanError as e:
        failure = failure or e
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
    return StageResult(stage.name, counted, wall, _seconds(cpu), tuple(tests))


def _execute(stage: Stage, log: Path, cpu: Path, update: Update, running: TaskGroup[_Program]) -> None:
    with log.open("w") as out, _program(stage, cpu, running) as program:
        assert program.process.stdout is not None
        for line in program.process.stdout:
            out.write(line)
            out.flush()
            if line.strip():
                update(line.strip())
        code = program.process.wait()
    if code and running.ended:
        raise CancelledError
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL:])
    if program.limit_reached:
        observed = f"not over after {stage.limit / 60:.0f} minutes; the last that it wrote:\n{tail or '(nothing)'}"
        raise RackspanError(stage.name, observed=observed, do=f"see {log}")
    if code:
        raise RackspanError(stage.name, observed=f"exit code {code}\n{tail}", do=f"see {log}")


def _seconds(cpu: Path) -> float:
    """Processor time that a stage recorded; 0 for one that was killed."""
    with contextlib.suppress(OSError, ValueError):
        return float(cpu.read_text(encoding="utf-8"))
    return 0.0
