"""Stages are admitted up to a number, and beyond it while the processors are idle."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError

import pytest

from harness.benchmark.cpu_usage import CpuTicks
from harness.cli.stage_admission import IDLE, WINDOW_S, Admission, IdleProcessors
from harness.common.wait import wait_for


class Processors:
    """Two processors of which a share is idle in each second."""

    def __init__(self, idle: float) -> None:
        self.idle, self._busy, self._all = idle, 0, 0

    def __call__(self) -> CpuTicks:
        self._busy += round(200 * (1 - self.idle))
        self._all += 200
        return CpuTicks(self._busy, 0, self._all)


class Waiting:
    """Stages that hold their places until the test ends them."""

    def __init__(self, jobs: int, extra: int, idle: float) -> None:
        self.processors = Processors(idle)
        self.admission = Admission(jobs, extra, IdleProcessors(self.processors), every=0.001)
        self.admitted, self._counted = 0, threading.Lock()
        self._release, self._over = threading.Event(), False
        self._threads: list[threading.Thread] = []

    def start(self, count: int) -> None:
        self._threads += [threading.Thread(target=self._stage) for _ in range(count)]
        for thread in self._threads[-count:]:
            thread.start()

    def end(self) -> None:
        self._over = True
        self._release.set()
        for thread in self._threads:
            thread.join()

    def are(self, count: int) -> None:
        wait_for(f"{count} stages", lambda: self.admitted >= count, 20, every=0.001)
        samples = self.processors._all
        wait_for("samples", lambda: self.processors._all > samples + 800 * WINDOW_S, 20, every=0.001)
        assert self.admitted == count

    def _stage(self) -> None:
        try:
            with self.admission.place(lambda: self._over):
                with self._counted:
                    self.admitted += 1
                self._release.wait()
        except CancelledError:
            pass


@pytest.fixture
def stages() -> Iterator[list[Waiting]]:
    made: list[Waiting] = []
    yield made
    for each in made:
        each.end()


def _waiting(stages: list[Waiting], jobs: int, extra: int, idle: float) -> Waiting:
    stages.append(Waiting(jobs, extra, idle))
    return stages[-1]


def test_no_more_than_the_number_run_on_busy_processors(stages: list[Waiting]) -> None:
    found = _waiting(stages, 2, 2, IDLE - 0.05)
    found.start(5)
    found.are(2)


def test_idle_processors_admit_more_up_to_the_limit(stages: list[Waiting]) -> None:
    found = _waiting(stages, 2, 2, IDLE + 0.05)
    found.start(6)
    wait_for("the limit", lambda: found.admitted >= 4, 20, every=0.001)
    assert found.admitted == 4


def test_processors_that_become_idle_admit_one_more(stages: list[Waiting]) -> None:
    found = _waiting(stages, 1, 1, 0.0)
    found.start(3)
    found.are(1)
    found.processors.idle = 0.9
    wait_for("one more", lambda: found.admitted == 2, 20, every=0.001)


def test_idle_seconds_before_an_admission_do_not_count_for_the_next() -> None:
    idle = IdleProcessors(Processors(0.9))
    assert max(idle.share() for _ in range(WINDOW_S)) == 0
    assert idle.share() == pytest.approx(0.9)
    idle.restart()
    assert idle.share() == 0


def test_what_waits_for_a_place_ends_with_the_group() -> None:
    admission = Admission(1, every=0.001)
    with (
        admission.place(lambda: False),
        pytest.raises(CancelledError),
        admission.place(lambda: True),
    ):
        raise AssertionError("admitted")
    with admission.place(lambda: True):  # a free place is taken at once
        pass
