"""Backend local, on real processes: identity, signals, leftovers, files."""

from __future__ import annotations

import subprocess
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP

import pytest

from harness.backends.base import end_processes
from harness.backends.local import MARKER, LocalBackend, LocalHost
from harness.common.errors import RackspanError
from harness.common.wait import wait_for
from harness.hosts.host import Host, Process, ProcessState
from harness.tests.limits import STUCK


@pytest.fixture
def host(tmp_path: Path) -> LocalHost:
    return LocalHost("x1", "127.0.0.1", str(tmp_path / "it's here"))


def start(host: LocalHost, *command: str) -> Process:
    env = {MARKER: host.root, "GREETING": "hello 'world' $HOME"}
    return host.start(command, pid_file=f"{host.root}/pid", output=f"{host.root}/out", env=env)


def test_a_process_outlives_the_shell_that_started_it_and_is_known_by_its_pid_file(host: LocalHost) -> None:
    process = start(host, "sh", "-c", "echo $GREETING; exec sleep 60")
    try:
        assert host.process(f"{host.root}/pid") == process
        assert host.state(process) is ProcessState.RUNNING
        wait_for("its words", lambda: host.read(f"{host.root}/out"), STUCK)
        assert host.read(f"{host.root}/out") == "hello 'world' $HOME\n"
        assert [p for _, p in LocalBackend().leftovers(host.root)] == [process]
        host.signal(process, SIGSTOP)
        wait_for("it to be paused", lambda: host.state(process) is ProcessState.PAUSED, STUCK)
        host.signal(process, SIGCONT)
        wait_for("it to continue", lambda: host.state(process) is ProcessState.RUNNING, STUCK)
    finally:
        host.signal(process, SIGKILL)
    wait_for("it to end", lambda: host.state(process) is ProcessState.GONE, STUCK)
    assert not host.signal(process, SIGKILL)


def test_a_pid_that_another_process_has_now_is_never_signalled(host: LocalHost) -> None:
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        recycled = Process(other.pid, started=1)
        assert host.state(recycled) is ProcessState.GONE
        assert not host.signal(recycled, SIGKILL)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_process_that_ended_but_was_not_reaped_is_gone(host: LocalHost) -> None:
    child = subprocess.Popen(["sleep", "60"])
    stat = host.read(f"/proc/{child.pid}/stat")
    process = Process(child.pid, int(stat.rpartition(")")[2].split()[19]))
    child.kill()
    try:
        wait_for("it to count as gone", lambda: host.state(process) is ProcessState.GONE, STUCK)
    finally:
        child.wait()


def test_a_missing_command_is_named(host: LocalHost) -> None:
    process = start(host, "no-such-command")
    wait_for("it to end", lambda: host.state(process) is ProcessState.GONE, STUCK)
    assert "no-such-command" in host.read(f"{host.root}/out")


class BlinkingBackend(LocalBackend):
    """Misses every process at the first look, as one is missed that is becoming another program."""

    looks = 0

    def leftovers(self, marker: str) -> list[tuple[Host, Process]]:
        self.looks += 1
        return super().leftovers(marker) if self.looks > 1 else []


def test_a_process_that_the_first_scan_misses_is_ended(host: LocalHost) -> None:
    process = start(host, "sleep", "60")
    end_processes(Path(host.root), BlinkingBackend())
    assert host.state(process) is ProcessState.GONE


def test_all_marked_processes_are_ended(host: LocalHost) -> None:
    start(host, "sh", "-c", "sleep 61 & sleep 62")
    wait_for("both children", lambda: len(LocalBackend().leftovers(host.root)) == 3, STUCK)
    other = LocalHost("x2", "127.0.0.1", host.root + "-other")
    survivor = start(other, "sleep", "60")
    end_processes(Path(host.root), LocalBackend())
    assert LocalBackend().leftovers(host.root) == []
    assert other.state(survivor) is ProcessState.RUNNING
    end_processes(Path(other.root), LocalBackend())


def test_the_error_of_a_failed_command_has_its_last_lines(host: LocalHost) -> None:
    with pytest.raises(RackspanError) as e:
        host.run(["sh", "-c", "echo one; echo two >&2; exit 3"])
    assert e.value.what == "`sh -c 'echo one; echo two >&2; exit 3'` failed on x1"
    assert e.value.observed == "exit code 3: two"


def test_a_command_that_does_not_end_is_killed(host: LocalHost) -> None:
    with pytest.raises(RackspanError, match="a command on x1 did not end"):
        host.shell("sleep 60", seconds=0.2)


def test_files_are_written_read_fetched_and_removed(host: LocalHost, tmp_path: Path) -> None:
    host.write(f"{host.root}/folder/a", "text\n")
    assert host.read(f"{host.root}/folder/a") == "text\n" and host.read(f"{host.root}/none") == ""
    host.fetch(f"{host.root}/folder", str(tmp_path / "copy"))
    host.send(str(tmp_path / "copy"), f"{host.root}/other")
    assert host.read(f"{host.root}/other/a") == "text\n"
    host.remove(f"{host.root}/other")
    host.remove(f"{host.root}/other")
    assert not Path(f"{host.root}/other").exists()
    with pytest.raises(ValueError, match="is not below"):
        host.remove(str(tmp_path))
    with pytest.raises(RackspanError, match="no such file or folder"):
        host.fetch(f"{host.root}/none", str(tmp_path / "x"))
