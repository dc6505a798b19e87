"""The backend ssh on machines that the tests start: the commands of docs/operations/machines.md, and errors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.backends.local import MARKER, processes_with
from harness.backends.ssh import MACHINES, SshBackend, SshHost
from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.distribution.locate import Distribution
from harness.network.blackhole_routes import NUMBER
from harness.spec import inventory
from harness.spec.cluster_spec import parse
from harness.spec.cluster_state import State
from harness.spec.topology import plan
from harness.tests import ssh_machines
from harness.tests.test_documents import commands

PLACE = "/var/tmp/rackspan-root"
PAGE = project_root() / "docs" / "operations" / "machines.md"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The inventory of a rack of two machines and two racks of one; a third of rack a is left over."""
    if skip_reason := ssh_machines.skip_reason():
        pytest.skip(f"there are no machines to enter: {skip_reason}")
    with ssh_machines.machines(tmp_path_factory.mktemp("machines") / "machines", {"a": 2, "b": 1, "c": 1}) as found:
        yield found


def backend(folder: Path, file: Path, change: Callable[[dict[str, Any]], None] = lambda host: None) -> SshBackend:
    """A backend for one node on the first machine, whose entry is changed before."""
    host = inventory.load(file)[0]
    change(host)
    spec = parse({"name": folder.name, "backend": "ssh", "racks": "a:1", "controllers": 1, "hosts": [host]})
    State(spec=spec, distribution="none", block=0, cluster_id="none").save(folder)
    return SshBackend.at(folder)


def brought_up(made: SshBackend) -> SshHost:
    """The host of a1, looked at."""
    spec = parse({"name": "x", "racks": "a:1"})
    made.bring_up(plan(spec))
    host = made.host(plan(spec).node("a1"), "")
    assert isinstance(host, SshHost)
    return host


# Each makes the entry invalid in one way: the error, and its remedy.
WRONG: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "another host key": (
        {"host_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG9UXBTXNDT0N8QhK1oQpLbF4LMlCzAq8sWhSlRSB5Yk"},
        "cannot enter root@198.18.1.1 by ssh",
        "verification failed",
        "give it as `host_key` in the inventory",
    ),
    "an unknown host key": (
        {"host_key": ""},
        "cannot enter root@198.18.1.1 by ssh",
        "verification failed",
        "compare its host key by another way",
    ),
    "another user": (
        {"user": "nobody"},
        "cannot enter nobody@198.18.1.1 by ssh",
        "Permission denied",
        "give `user` and `key` in the inventory",
    ),
    "no sshd": (
        {"port": 9},
        "cannot enter root@198.18.1.1 by ssh",
        "Connection refused",
        "see whether `ssh root@198.18.1.1` works on port 9",
    ),
    "no Java": (
        {"java_home": "/none"},
        "root@198.18.1.1 cannot run a1",
        "no Java: ",
        "install what is missing there; see docs/operations/machines.md",
    ),
    "a folder of somebody else": (
        {"folder": "/var/tmp/theirs"},
        "root@198.18.1.1 cannot run a1",
        "/var/tmp/theirs is not this user's",
        "see docs/operations/machines.md",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_unusable_machine_is_refused_with_the_reason(name: str, file: Path, tmp_path: Path) -> None:
    change, what, observed, do = WRONG[name]
    there = brought_up(backend(tmp_path / "right", file))
    there.run(["sh", "-c", "mkdir -p /var/tmp/theirs && chown 65534 /var/tmp/theirs"])
    with pytest.raises(RackspanError) as e:
        brought_up(backend(tmp_path / "wrong", file, lambda host: host.update(change)))
    assert (e.value.what, e.value.code) == (what, Exit.ENVIRONMENT)
    assert observed in e.value.observed and do in e.value.do


def test_without_an_ssh_client_the_backend_ssh_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RackspanError) as e:
        SshBackend.at(tmp_path).prepare()
    assert str(e.value) == (
        "the backend ssh needs OpenSSH's client\n  observed: no ssh on PATH\n  do:       install openssh-client"
    )


def test_a_distribution_is_copied_once_for_each_build(file: Path, tmp_path: Path) -> None:
    home = tmp_path / "some-kafka"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "run").write_text("#!/bin/sh\necho ran\n")
    (home / "bin" / "run").chmod(0o755)
    made = backend(tmp_path / "cluster", file)
    host = brought_up(made)
    first = made.placed("a1", Distribution(home))
    made.install({"a1": Distribution(home), "ctrl-1": Distribution(home)})
    assert host.run([first.script("run")]) == "ran\n"
    host.run(["touch", first.script("observed")])
    made.install({"a1": Distribution(home)})
    assert host.run(["ls", f"{first.home}/bin"]) == "observed\nrun\n"
    (home / "bin" / "run").write_text("#!/bin/sh\necho ran again\n")
    made.install({"a1": Distribution(home)})
    assert made.placed("a1", Distribution(home)) != first
    assert host.run([made.placed("a1", Distribution(home)).script("run")]) == "ran again\n"


def test_a_remote_command_keeps_its_exit_code(file: Path, tmp_path: Path) -> None:
    """ssh exits with 255 if it fails itself; a script that does must not look like an unreachable machine."""
    host = brought_up(backend(tmp_path / "cluster", file))
    assert [host.shell(f"exit {code}").code for code in (0, 3, 255)] == [0, 3, 254]
    assert host.shell("kill -9 $$").code == 137


def test_an_idle_connection_is_opened_again(file: Path, tmp_path: Path) -> None:
    host = brought_up(backend(tmp_path / "cluster", file))
    assert host.connection.socket.exists()
    host.connection.close()
    assert not host.connection.socket.exists()
    assert host.run(["echo", "back"]) == "back\n" and host.connection.socket.exists()


def test_a_cluster_with_an_unreachable_machine_is_not_removed(file: Path, tmp_path: Path) -> None:
    made = backend(tmp_path / "cluster", file)
    brought_up(made)
    there = tmp_path / "cluster" / MACHINES
    right = there.read_text(encoding="utf-8")
    there.write_text(right.replace('"port": 22,', '"port": 9,'), encoding="utf-8")
    with pytest.raises(RackspanError) as e:
        SshBackend.at(tmp_path / "cluster").take_down()
    assert (e.value.what, e.value.code) == ("cannot enter root@198.18.1.1 by ssh", Exit.ENVIRONMENT)
    there.write_text(right, encoding="utf-8")
    SshBackend.at(tmp_path / "cluster").take_down()


@pytest.mark.variant
@pytest.mark.timeout(1800)
def test_the_commands_of_the_page_work(file: Path, tmp_path: Path) -> None:
    """Starts a cluster, kills a rack of it, and runs a test of the outage plan, on machines without this project."""
    results = tmp_path / "results"
    env = {**os.environ, "RACKSPAN_HOME": str(tmp_path / "home")}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    session = "harness.ducktape_support.session"
    wanted = commands(PAGE.read_text(encoding="utf-8"))
    assert len(wanted) == 10
    for command in wanted:
        line = command.replace("vms.yaml", str(file)).replace(session, f"{session} --attempts 2 --results {results}")
        done = subprocess.run(["bash", "-c", line], cwd=project_root(), env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        if "fault list" in command:
            assert "a-c is cut" in done.stdout and "b to c, c to b" in done.stdout, done.stdout
        if "down" in command:
            assert processes_with(MARKER, str(tmp_path / "home" / "clusters" / "vms")) == []
    assert "1 passed, 0 failed" in done.stdout
    made = backend(tmp_path / "other", file)
    left = brought_up(made).run(["sh", "-c", f"cd {PLACE} && echo dist/* && ls clusters && ip rule show pref {NUMBER}"])
    assert left.startswith("dist/rackspan-kafka_") and left.count("\n") == 1, left


def test_the_inventory_of_the_page_is_valid(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    (tmp_path / "key").touch()
    (tmp_path / "vms.yaml").write_text(yaml.safe_dump(yaml.safe_load(text) | {"key": "key"}))
    assert [h["rack"] for h in inventory.load(tmp_path / "vms.yaml")] == ["a", "a", "b", "c"]
