"""Stages: what is counted as passed and failed, and that a failure stops nothing but shows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.cli import report, test_counts, test_stages, test_times
from harness.cli.test_counts import Counts
from harness.cli.test_stages import Stage, StageResult
from harness.common.errors import RackspanError
from harness.common.paths import project_root
from harness.common.progress import Progress
from harness.common.wait import wait_for
from harness.tests.limits import STUCK

JUNIT = '<testsuites><testsuite tests="{}" failures="{}" errors="0" skipped="{}"/></testsuites>'


class Reported(Progress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def _writes(folder: Path, *counts: int, code: int = 0) -> list[str]:
    text = f"import pathlib, sys; p = pathlib.Path({str(folder)!r}); p.mkdir(); print('at work'); "
    text += f"(p / 'r.xml').write_text({JUNIT.format(*counts)!r}); sys.exit({code})"
    return [sys.executable, "-c", text]


def _counts(stages: list[Stage], folder: Path, reported: Reported, jobs: int = 1) -> Counts:
    return test_stages.total(test_stages.run(stages, folder / "logs", reported, jobs))


def test_counts_are_summed_and_a_failure_does_not_stop_the_rest(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    reported = Reported()
    wanted = [
        Stage("bad one", _writes(one, 5, 2, 1, code=1), one),
        Stage("good two", _writes(two, 3, 0, 0), two),
        Stage("plain", [sys.executable, "-c", "pass"]),
        Stage("broken", [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"]),
    ]
    counts = _counts(wanted, tmp_path, reported)
    assert counts == Counts(passed=2 + 3 + 1, failed=2 + 0 + 0 + 1, skipped=1)
    assert str(counts) == "6 passed, 3 failed, 1 skipped"
    assert any("broken failed, exit code 3" in n and "the reason" in n for n in reported.notes)
    assert "at work" in (tmp_path / "logs" / "bad-one.log").read_text()


def test_a_stage_that_leaves_no_results_has_failed(tmp_path: Path) -> None:
    reported = Reported()
    stage = Stage("silent", [sys.executable, "-c", "pass"], tmp_path / "nothing")
    assert _counts([stage], tmp_path, reported) == Counts(failed=1)
    assert any("silent left no results" in n for n in reported.notes)


def test_a_program_that_dies_without_a_failed_test_has_failed(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    stage = Stage("dies", _writes(folder, 4, 0, 0, code=9), folder)
    assert _counts([stage], tmp_path, Reported()) == Counts(passed=4, failed=1)


def test_stages_run_side_by_side(tmp_path: Path) -> None:
    """Each of the two ends only when the other has begun."""
    meet = "import pathlib, sys, time\nmine, other = map(pathlib.Path, sys.argv[1:])\nmine.touch()\n"
    meet += "end = time.monotonic() + 60\nwhile not other.exists():\n assert time.monotonic() < end"
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    both = [Stage("a", [sys.executable, "-c", meet, one, two]), Stage("b", [sys.executable, "-c", meet, two, one])]
    reported = Reported()
    assert _counts(both, tmp_path, reported, jobs=2) == Counts(passed=2)
    assert sorted(reported.notes) == ["a: 1 passed, 0 failed", "b: 1 passed, 0 failed"]


def test_an_interrupt_ends_what_runs_and_starts_nothing_more(tmp_path: Path) -> None:
    waits = "import pathlib, sys, os, signal; p = pathlib.Path(sys.argv[1]); p.with_suffix('.new').write_text("
    waits += "str(os.getpid())); p.with_suffix('.new').rename(p); signal.pause()"
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    wanted = [Stage(p.name, [sys.executable, "-c", waits, str(p)]) for p in (one, two, three)]

    def interrupt() -> None:
        wait_for("both stages to run", lambda: one.exists() and two.exists(), STUCK)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    reported = Reported()
    with pytest.raises(KeyboardInterrupt):
        test_stages.run(wanted, tmp_path / "logs", reported, jobs=2)
    thread.join()
    for p in (one, two):
        with pytest.raises(ProcessLookupError):
            os.kill(int(p.read_text()), 0)
    assert not three.exists()
    assert reported.notes == []


def test_ctrl_c_in_a_terminal_reaches_a_stage_once(tmp_path: Path) -> None:
    """The terminal signals a complete group; the stage's end comes from us."""
    group = "import os, sys; sys.exit(os.getpgrp() != os.getpid())"
    assert _counts([Stage("group", [sys.executable, "-c", group])], tmp_path, Reported()) == Counts(passed=1)


def test_a_stage_ends_with_whoever_runs_it(tmp_path: Path) -> None:
    waits = f"import os, pathlib, signal; pathlib.Path('{tmp_path}/new').write_text(str(os.getpid()));"
    waits += f"os.rename('{tmp_path}/new', '{tmp_path}/pid'); signal.pause()"
    runs = "import pathlib, sys; from harness.cli import test_stages as stages;"
    runs += "from harness.tests.test_test_stages import Reported;"
    runs += "stages.run([stages.Stage('waits', [sys.executable, '-c', sys.argv[1]])], pathlib.Path(sys.argv[2]), Reported())"  # noqa: E501
    runner = subprocess.Popen([sys.executable, "-c", runs, waits, str(tmp_path / "logs")], cwd=project_root())
    stage = int(wait_for("the stage", lambda: (tmp_path / "pid").read_text(), 60))
    runner.kill()
    runner.wait()
    wait_for("the stage to end", lambda: _ended(stage), STUCK)


def _ended(pid: int) -> bool:
    """True if there is no such process, or one that nobody has waited for."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_old_results_and_links_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "session").mkdir()
    (tmp_path / "session" / "r.xml").write_text(JUNIT.format(2, 0, 0))
    (tmp_path / "latest").symlink_to("session")
    assert test_counts.count(tmp_path) == Counts(passed=2)
    assert test_counts.count(tmp_path, since=(tmp_path / "session" / "r.xml").stat().st_mtime + 1) == Counts()


def test_results_that_cannot_be_read_are_a_failure(tmp_path: Path) -> None:
    """A stage that is killed leaves half a file."""
    folder = tmp_path / "r"
    half = f"import pathlib; p = pathlib.Path({str(folder)!r}); p.mkdir(); (p / 'r.xml').write_text('<testsuite')"
    reported = Reported()
    assert _counts([Stage("half", [sys.executable, "-c", half], folder)], tmp_path, reported) == Counts(failed=1)
    assert any("cannot read the test results" in n for n in reported.notes)


def test_a_stage_that_exceeds_its_limit_is_ended_and_reports_its_last_lines(tmp_path: Path) -> None:
    begin = "import signal, sys, time; print('waiting for a broker', flush=True);"
    tidy = f"{begin} signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('tidied up')));time.sleep(600)"
    reported = Reported()
    stage = Stage("stuck", [sys.executable, "-c", tidy], limit=2, teardown=60)
    assert _counts([stage], tmp_path, reported) == Counts(failed=1)
    note = next(n for n in reported.notes if "stuck failed" in n)
    assert "not over after 0 minutes" in note and "waiting for a broker\ntidied up" in note and "complete log" in note


def test_a_stage_that_ignores_its_end_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    """A child in a session of its own, whose parent is gone, as a broker is."""
    child = (
        f"import os, pathlib, time; os.setsid(); pathlib.Path({str(tmp_path / 'new')!r}).write_text(str(os.getpid()));"
    )
    child += f"os.rename({str(tmp_path / 'new')!r}, {str(tmp_path / 'pid')!r}); time.sleep(600)"
    deaf = "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    deaf += f"subprocess.run(['sh', '-c', '{sys.executable} -c \"$0\" &', {child!r}]); time.sleep(600)"
    reported = Reported()
    stage = Stage("deaf", [sys.executable, "-c", deaf], limit=5, teardown=1)
    assert _counts([stage], tmp_path, reported) == Counts(failed=1)
    assert _ended(int((tmp_path / "pid").read_text()))


def test_what_outlives_its_stage_is_killed_and_named(tmp_path: Path) -> None:
    """It holds the stage's output open."""
    leaves = "import subprocess, sys; subprocess.Popen(['sh', '-c', 'sleep 600 & echo $!'])"
    assert _counts([Stage("leaves", [sys.executable, "-c", leaves])], tmp_path, Reported()) == Counts(passed=1)
    pid, named = (tmp_path / "logs" / "leaves.log").read_text().splitlines()
    assert "still running after the command, killed" in named and "sleep" in named and pid in named
    assert _ended(int(pid))


def test_processor_time_counts_that_of_adopted_processes(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    orphan = f"import os, subprocess, sys; subprocess.run(['sh', '-c', '{sys.executable} -c \"$0\" &', {burn!r}])"
    (result,) = test_stages.run([Stage("burns", [sys.executable, "-c", orphan])], tmp_path / "logs", Reported())
    assert result.cpu_seconds >= 0.5


def test_times_name_the_longest_stage_and_the_slowest_tests(tmp_path: Path) -> None:
    suite = "<testsuite name='s' tests='30'>"
    suite += "".join(f"<testcase classname='a.B' name='t{n}' time='{n}.25'/>" for n in range(30)) + "</testsuite>"
    (tmp_path / "r.xml").write_text(suite)
    tests = tuple(test_counts.times(tmp_path))
    results = [StageResult("short", Counts(1), 2.0, 3.04), StageResult("long", Counts(30, 1, 2), 60.0, 30.0, tests)]
    data = json.loads(test_times.write(tmp_path, results, 9.0, 61.0).read_text())
    assert data["stages"][0] == {
        "stage": "long",
        "wall_seconds": 60.0,
        "cpu_seconds": 30.0,
        "passed": 30,
        "failed": 1,
        "skipped": 2,
    }
    assert (data["setup_seconds"], data["wall_seconds"], data["cpu_seconds"]) == (9.0, 61.0, 33.0)
    assert [t["test"] for t in data["slowest_tests"]] == [f"a.B.t{n}" for n in range(29, 9, -1)]
    assert data["slowest_tests"][0] == {"test": "a.B.t29", "stage": "long", "seconds": 29.2}


def _run(folder: Path, name: str, kind: str, campaign: str = "", state: str = "finished") -> None:
    (folder / name).mkdir()
    reported = {"kind": kind, "state": state, "spec": {"campaign": {"id": campaign} if campaign else {}}}
    (folder / name / "manifest.json").write_text(json.dumps(reported))


def test_report_takes_the_newest_benchmark_with_all_its_parts(tmp_path: Path) -> None:
    with pytest.raises(RackspanError, match="no run folder found"):
        report.newest(tmp_path)
    for name in ("20260101T000000Z-outage", "20260102T000000Z-outage", "20260101T000000Z-soak"):
        _run(tmp_path, name, "outage")
    assert {p.name for p in report.newest(tmp_path)} == {"20260102T000000Z-outage", "20260101T000000Z-soak"}
    _run(tmp_path, "20260103T000000Z-bench-quiet", "bench")
    _run(tmp_path, "20260104T000000Z-bench-quiet", "bench")
    (tmp_path / "20260107T000000Z-broken").mkdir()
    for damaged in ("{", "[]", '{"state": "finished"}', '{"kind": "bench", "spec": null, "state": "finished"}'):
        (tmp_path / "20260107T000000Z-broken" / "manifest.json").write_text(damaged)
        assert [p.name for p in report.newest(tmp_path)] == ["20260104T000000Z-bench-quiet"], damaged
    _run(tmp_path, "20260105T000000Z-bench-near", "bench", "one")
    _run(tmp_path, "20260105T000100Z-bench-far", "bench", "one", state="failed")
    _run(tmp_path, "20260105T000050Z-bench-near", "bench", "two")
    _run(tmp_path, "20260105T000200Z-outage", "outage", "one")
    _run(tmp_path, "20260106T000000Z-bench-quiet", "bench", state="running")
    assert [p.name for p in report.newest(tmp_path)] == [
        "20260105T000000Z-bench-near",
        "20260105T000100Z-bench-far",
        "20260105T000200Z-outage",
    ]


def test_what_the_analysis_refuses_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RackspanError, match="the analysis failed") as e:
        report.write([tmp_path], tmp_path / "out", Progress())
    assert str(tmp_path) in e.value.observed
