"""Duties of every backend, on real processes: commands, files, signals, cuts, and a clean end."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Any

import pytest

from harness.backends.local import MARKER, processes_with
from harness.backends.netns import OWNER
from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.common.wait import Pending, wait_for
from harness.hosts.host import Capability, ProcessState
from harness.network.netns_support import attempt
from harness.tests import ssh_machines
from harness.tests.bare_hosts import Hosts, hosts_of
from harness.tests.limits import STUCK

TALK = "import socket, sys; s = socket.create_connection((sys.argv[1], 7000), 2); print(s.recv(9).decode())"
LISTEN = """import socket, sys
s = socket.create_server((sys.argv[1], 7000))
while True:
    s.accept()[0].sendall(b"well met\\n")"""
# An image has no Python.
TALK_PERL = 'use IO::Socket::INET; print IO::Socket::INET->new("$ARGV[0]:7000")->getline'
LISTEN_PERL = """use IO::Socket::INET;
my $s = IO::Socket::INET->new(LocalAddr => $ARGV[0], LocalPort => 7000, Listen => 5, ReuseAddr => 1) or die;
while (my $c = $s->accept) { print $c "well met\n"; close $c }"""


@pytest.fixture(scope="module", params=["local", "netns", "ssh", "docker"])
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    name: str = request.param
    if name == "netns" and (skip_reason := attempt().skip_reason):
        pytest.skip(f"no networks can be made here: {skip_reason}")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        if name == "ssh":
            if skip_reason := ssh_machines.skip_reason():
                pytest.skip(f"no machines can run here: {skip_reason}")
            place = tmp_path_factory.mktemp("machines") / "machines"
            found = stack.enter_context(ssh_machines.machines(place, {"a": 2, "b": 1, "c": 1}))
            patch.setenv("INVENTORY", str(found))
        if name == "docker":
            engine = request.getfixturevalue("docker_engine")
            stack.enter_context(engine.entered())
            patch.setenv("DOCKER_HOST", engine.where)
        yield name


@pytest.fixture(scope="module")
def hosts(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts_of(backend, tmp_path_factory.mktemp("hosts") / backend) as found:
        yield found


def test_a_command_returns_its_exit_code_and_output(hosts: Hosts) -> None:
    done = hosts.host("a1").shell("echo one; echo two >&2; exit 3")
    assert (done.code, done.out, done.err) == (3, "one\n", "two\n")
    with pytest.raises(RackspanError, match="a command on b1 did not end"):
        hosts.host("b1").shell("sleep 60", seconds=0.2)
    inside = subprocess.run(hosts.host("c1").argv(["echo", "it's me"]), capture_output=True, text=True)
    assert (inside.returncode, inside.stdout) == (0, "it's me\n")


def test_files_are_fetched_sent_and_removed(hosts: Hosts, tmp_path: Path) -> None:
    host = hosts.host("a1")
    host.write(f"{host.root}/folder/a", "text\n")
    assert (host.read(f"{host.root}/folder/a"), host.read(f"{host.root}/none")) == ("text\n", "")
    host.fetch(f"{host.root}/folder", str(tmp_path / "copy"))
    other = hosts.host("b1")
    other.send(str(tmp_path / "copy"), f"{other.root}/folder")
    assert other.shell(f"cat {other.root}/folder/a").out == "text\n"
    other.remove(f"{other.root}/folder")
    assert other.read(f"{other.root}/folder/a") == "" and host.read(f"{host.root}/folder/a") == "text\n"


def test_a_process_writes_its_log_and_is_paused_and_killed(hosts: Hosts) -> None:
    host = hosts.host("a2")
    process = hosts.start("a2", "sh", "-c", "echo $GREETING; exec sleep 60")
    assert host.process(f"{host.root}/pid") == process
    wait_for("its words", lambda: host.read(f"{host.root}/out"), STUCK)
    assert host.read(f"{host.root}/out") == "hello 'world'\n"
    assert [p for _, p in hosts.backend.leftovers(str(hosts.folder))] == [process]
    for number, state in (
        (SIGSTOP, ProcessState.PAUSED),
        (SIGCONT, ProcessState.RUNNING),
        (SIGKILL, ProcessState.GONE),
    ):
        assert host.signal(process, number)
        wait_for(f"it to be {state.value}", lambda wanted=state: host.state(process) is wanted, STUCK)  # type: ignore[misc]
    assert not host.signal(process, SIGKILL)


def test_hosts_and_the_driver_reach_each_other(hosts: Hosts) -> None:
    """The address is the host's own: a process there can listen on it, and all others can connect to it."""
    address = hosts.plan.node("b1").address
    inside = ["perl", "-e"] if hosts.backend.name == "docker" else [sys.executable, "-c"]
    listen, talk = (LISTEN_PERL, TALK_PERL) if hosts.backend.name == "docker" else (LISTEN, TALK)
    process = hosts.start("b1", *inside, listen, address)

    def answered() -> bool | Pending:
        done = hosts.host("b1").shell(shlex.join([*inside, talk, address]))
        return done.out.strip() == "well met" or Pending(done.err[-200:])

    wait_for("it to listen", answered, STUCK)
    assert hosts.host("a1").run([*inside, talk, address]).strip() == "well met"
    hosts.backend.enter()
    driver = subprocess.run([sys.executable, "-c", TALK, address], capture_output=True, text=True)
    assert driver.stdout == "well met\n\n", driver.stderr
    hosts.host("b1").signal(process, SIGKILL)


def test_a_cut_drops_all_packets_until_it_is_healed(hosts: Hosts) -> None:
    if Capability.CUT not in hosts.backend.capabilities:
        pytest.skip(f"the backend {hosts.backend.name} has no cuts")
    address = hosts.plan.node("b1").address
    inside = ["perl", "-e"] if hosts.backend.name == "docker" else [sys.executable, "-c"]
    listen, talk = (LISTEN_PERL, TALK_PERL) if hosts.backend.name == "docker" else (LISTEN, TALK)
    listener = hosts.start("b1", *inside, listen, address)

    def met(*names: str) -> dict[str, bool]:
        """Connects to b1 from each of these hosts; True where it answers."""
        script = f"timeout 3 {shlex.join([*inside, talk, address])}"
        with ThreadPoolExecutor() as pool:
            found = pool.map(lambda name: hosts.host(name).shell(script).out.strip() == "well met", names)
            return dict(zip(names, found, strict=True))

    def answered(*names: str) -> None:
        wait_for(f"{', '.join(names)} to be answered", lambda: all(met(*names).values()), STUCK)

    links = hosts.links
    answered("b1", "a1", "a2", "c1")
    links.cut("a")
    assert links.faults() == ["a-b is cut", "a-c is cut"]
    assert met("a1", "a2", "c1") == {"a1": False, "a2": False, "c1": True}
    links.heal_cut("a", "b")
    answered("a1", "a2")
    links.cut("b", "a", one_way=True)  # its answers are dropped
    assert met("a1", "c1") == {"a1": False, "c1": True}
    links.heal()
    answered("a1")
    links.isolate("a2")
    assert met("a1", "a2", "c1") == {"a1": True, "a2": False, "c1": True}
    links.rejoin("a2")
    links.disconnect("b1")
    assert met("a1", "c1", "b1") == {"a1": False, "c1": False, "b1": True}
    with pytest.raises(RackspanError, match="rack 'z' not found"):
        links.cut("z")
    links.heal()
    assert links.faults() == []
    answered("a1", "c1")
    hosts.host("b1").signal(listener, SIGKILL)


def test_a_missing_capability_is_an_environment_error(hosts: Hosts) -> None:
    able = hosts.backend.capabilities
    acts: dict[Capability, Callable[[], object]] = {
        Capability.CUT: lambda: hosts.links.cut("a"),
        Capability.DELAY: lambda: hosts.links.set_delay("a", "b", "5ms"),
        Capability.SLOW: lambda: hosts.links.limit_bandwidth("a1", "1mbit"),
        Capability.POWER_CUT: lambda: hosts.backend.require(Capability.POWER_CUT),
    }
    for lacking, act in acts.items():
        if lacking in able or (Capability.CUT not in able and lacking in (Capability.DELAY, Capability.SLOW)):
            continue
        with pytest.raises(RackspanError) as e:
            act()
        assert e.value.code is Exit.ENVIRONMENT
        assert str(e.value) == (
            f"backend {hosts.backend.name} cannot do this\n"
            f"  observed: it lacks: {lacking.value}; it has: {', '.join(sorted(able)) or 'none'}\n"
            "  do:       bring the cluster up with the backend netns"
        )


def left(folder: Path) -> list[int]:
    return [p.pid for name in (MARKER, OWNER) for p in processes_with(name, str(folder))]


def killed(backend: str, folder: Path, python: list[str]) -> dict[str, Any]:
    """Starts hosts and kills their harness (kill -9); returns what it had printed."""
    command = [*python, "-m", "harness.tests.bare_hosts", backend, str(folder)]
    done = subprocess.run(command, cwd=project_root(), capture_output=True, text=True, timeout=120)
    assert done.returncode == -SIGKILL, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def test_a_killed_harness_leaves_no_process(backend: str, tmp_path: Path) -> None:
    folder = tmp_path / "crashed"
    try:
        printed = killed(backend, folder, [sys.executable])
        assert len(printed["pids"]) == 5
        if backend != "netns":
            wait_for("two processes a host", lambda: len(left(folder)) == 10 or Pending(str(left(folder))), STUCK)
        else:  # all processes end by themselves
            wait_for("all to be gone", lambda: left(folder) == [] or Pending(str(left(folder))), STUCK)
    finally:  # as the next harness does with leftovers
        Hosts(backend, folder).end()
    assert left(folder) == []
