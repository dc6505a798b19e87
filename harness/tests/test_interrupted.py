"""Commands that are interrupted or killed: nothing stays, or the next command ends what stayed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.paths import project_root
from harness.common.wait import wait_for
from harness.hosts.host import ProcessState
from harness.tests.commands import begin, in_background, processes, rackspan
from harness.tests.limits import STUCK

pytestmark = pytest.mark.cluster

SMALL = ("--racks", "a:1", "--controllers", "1", "--distribution", "stock", "--name", "lab")


def started(home: Path, background: bool = False) -> subprocess.Popen[str]:
    """An `up` in the middle of its work: both nodes' processes exist, neither is ready."""
    command = begin("up", *SMALL, home=home, background=background)
    pids = [home / "clusters" / "lab" / node / "pid" for node in ("a1", "ctrl-1")]
    try:
        wait_for("both pid files", lambda: all(p.exists() for p in pids), STUCK, every=0.02)
    except BaseException:
        command.terminate()  # which ends its nodes
        command.communicate()
        raise
    assert command.poll() is None
    return command


@pytest.mark.parametrize(
    ("number", "background"),  # where a script's background ignores a signal, both; it never does so with SIGTERM
    [(signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, True)],
    ids=["SIGINT-terminal", "SIGINT-background", "SIGTERM-background"],
)
def test_an_interrupted_up_leaves_nothing(home: Path, number: signal.Signals, background: bool) -> None:
    command = started(home, background)
    command.send_signal(number)
    _, err = command.communicate(timeout=STUCK)
    assert command.returncode == 130
    assert "Traceback" not in err
    assert "\ninterrupted: ending what is at work and removing what it made; this can take a minute\n" in err
    assert processes(home, "lab") == 0
    assert not (home / "clusters" / "lab").exists()


# SIGTERM: an interrupted `up` shows that it is handled as SIGINT is.
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.variant)])
def test_a_soak_in_the_background_ends_cleanly(home: Path, tmp_path: Path, number: signal.Signals) -> None:
    small = ("--racks", "a:1,b:1", "--min-racks", "2", "--cycles", "1", "--out", str(tmp_path / "out"))
    command = begin("soak", *small, home=home, background=True)
    jar = str(project_root() / "build" / "load" / "rackspan-load.jar")

    def clients() -> list[psutil.Process]:
        """Load clients whose standard input is a pipe of the command: they are nobody's children."""
        if command.poll() is not None:
            pytest.fail(f"the soak ended with {command.returncode}: {command.communicate()[1]}")
        pipes = {file.readlink() for file in Path(f"/proc/{command.pid}/fd").iterdir()}
        java = [p for p in psutil.process_iter(["cmdline"]) if jar in " ".join(p.info["cmdline"] or ())]
        return [p for p in java if Path(f"/proc/{p.pid}/fd/0").readlink() in pipes]

    try:
        found = wait_for("a load client", clients, STUCK)
        folders = [Path(p.cwd()) for p in found]
        command.send_signal(number)
        _, err = command.communicate(timeout=STUCK)
    finally:
        command.kill()
    assert command.returncode == 130, err
    assert "Traceback" not in err
    assert processes(home, "soak") == 0 and not list((home / "clusters").glob("*"))
    # one that had just been started, and that the command did not know of yet, ends with its standard input
    wait_for("the load clients to end", lambda: not any(p.is_running() for p in found), 90)
    assert folders and not any(folder.exists() for folder in folders)


def test_a_terminated_session_of_tests_ends_its_clusters(tmp_path: Path) -> None:
    one = "harness/tests/test_kafka_cluster.py::test_the_next_up_uses_kept_data"
    options = ["-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'base'}"]
    session = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, one], cwd=project_root(), stdout=subprocess.PIPE, text=True
    )
    found = (tmp_path / "base").glob
    pids = wait_for("a node", lambda: list(found("*/home/clusters/*/*/pid")), STUCK, every=0.02)
    folder = pids[0].parent.parent
    try:
        session.terminate()
        out, _ = session.communicate(timeout=STUCK)
        assert session.returncode == pytest.ExitCode.INTERRUPTED, out
        assert not folder.exists()
        assert processes(folder.parent.parent, folder.name) == 0
    finally:
        rackspan("down", "--all", home=folder.parent.parent)


def test_a_test_of_interrupts_passes_in_the_background(tmp_path: Path) -> None:
    """That of stages; the one of the terminal ignores signals itself. `--full` runs all so, on the empty machine."""
    test = "harness/tests/test_test_stages.py::test_an_interrupt_ends_what_runs_and_starts_nothing_more"
    options = ["-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'base'}"]
    command = [sys.executable, "-m", "pytest", *options, test]
    done = subprocess.run(
        command, cwd=project_root(), capture_output=True, text=True, timeout=300, preexec_fn=in_background
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_what_a_killed_up_left_is_ended_by_the_next_up(home: Path) -> None:
    command = started(home)
    command.kill()
    command.communicate()
    cluster = KafkaCluster.open("lab")
    left = [cluster.node(name).look() for name in ("a1", "ctrl-1")]
    # a process that is becoming another program has no mark for a moment
    wait_for("the nodes that the killed command left", lambda: processes(home, "lab") >= 2, STUCK)
    up = rackspan("up", *SMALL, home=home)
    assert up.returncode == 0, up.stderr
    assert "✓ leftovers of an interrupted run ended" in up.stderr
    assert processes(home, "lab") == 2
    for process, _ in left:
        assert process is not None
        assert cluster.node("a1").host.state(process) is ProcessState.GONE


def test_what_a_killed_up_left_is_ended_by_down(home: Path) -> None:
    command = started(home)
    command.kill()
    command.communicate()
    (home / "clusters" / "lab" / "state.json").write_text("{")  # even if its state cannot be read
    broken = rackspan("status", "lab", home=home)
    assert broken.returncode == 1 and "remove what is left of it with `rackspan down lab`" in broken.stderr
    down = rackspan("down", "--all", home=home)
    assert (down.returncode, down.stderr) == (0, "cluster 'lab' removed\n")
    assert processes(home, "lab") == 0
    assert list((home / "clusters").iterdir()) == []
    again = rackspan("down", home=home)
    assert (again.returncode, again.stderr) == (0, "no cluster found: nothing to remove\n")


def test_a_command_on_a_cluster_that_another_one_works_on_says_so(home: Path) -> None:
    command = started(home)
    command.send_signal(signal.SIGSTOP)  # however slow the other command is, this one is at work
    try:
        busy = rackspan("down", "lab", home=home)
        assert busy.returncode == 1
        assert busy.stderr == (
            f"error: cluster 'lab' is busy\n  observed: process {command.pid} is at work on it\n"
            "  do:       wait until it has ended\n"
        )
    finally:
        command.send_signal(signal.SIGCONT)
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=STUCK)
