"""Backend netns: delays as requested, changed and cut while hosts run, and the rights that it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.common.wait import Pending, wait_for
from harness.network.link_measurement import TOLERANCE
from harness.network.netns_support import attempt
from harness.tests.bare_hosts import Hosts, hosts_of
from harness.tests.limits import STUCK
from harness.tests.test_backends import killed, left

NOBODY = 65534


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    if skip_reason := attempt().skip_reason:
        pytest.skip(f"this machine cannot have networks: {skip_reason}")
    links = {"default": "6ms", "a-c": "30ms"}
    with hosts_of("netns", tmp_path_factory.mktemp("hosts") / "netns", links) as found:
        yield found


@pytest.fixture(autouse=True)
def healed(hosts: Hosts) -> Iterator[None]:
    yield
    hosts.links.heal()


def reaches(hosts: Hosts, source: str, target: str, seconds: int = 20) -> bool:
    """True if the host answers a connection: it refuses it, since no process listens."""
    address = hosts.plan.node(target).address
    done = hosts.host(source).shell(f"timeout {seconds} bash -c 'exec 3<>/dev/tcp/{address}/9'")
    return "refused" in done.err


def silent(hosts: Hosts, source: str, target: str) -> bool:
    """True if no answer comes for a second: 30 times the longest delay."""
    return not reaches(hosts, source, target, seconds=1)


def test_delays_are_as_requested(hosts: Hosts) -> None:
    observed = {s.racks: s for s in hosts.links.check()}
    assert {racks: s.requested_ms for racks, s in observed.items()} == {"a-b": 6, "a-c": 30, "b-c": 6}
    assert all(s.off <= TOLERANCE and s.p90_ms is not None and s.samples == 25 for s in observed.values())


def test_hosts_of_one_rack_and_the_driver_have_no_delay(hosts: Hosts) -> None:
    probe = ["-I", "-S", str(project_root() / "harness" / "network" / "rtt_probe.py")]
    near = hosts.host("a1").run([sys.executable, *probe, hosts.plan.node("a2").address, "15", "0.001"])
    hosts.backend.enter()
    driver = subprocess.run([sys.executable, *probe, hosts.plan.node("c1").address, "15", "0.001"], capture_output=True)
    for times in (near, driver.stdout.decode()):
        best = min(int(t) for t in times.strip("[]\n").split(","))
        assert 0 < best < 3000, times


def test_delays_change_while_hosts_run(hosts: Hosts) -> None:
    hosts.links.set_delay("b", "a", "60ms", jitter="2ms")
    observed = {s.racks: s for s in hosts.links.check()}
    assert observed["a-b"].requested_ms == 60 and observed["a-b"].off <= TOLERANCE
    assert observed["b-c"].requested_ms == 6
    hosts.links.restore_delay("a", "b")
    assert {s.racks: s.requested_ms for s in hosts.links.check()} == {"a-b": 6, "a-c": 30, "b-c": 6}


def test_a_delay_that_cannot_be_held_is_refused(hosts: Hosts) -> None:
    """A link that loses everything never gives the round-trip time that was requested."""
    hosts.links.set_delay("a", "b", "6ms", loss="100%")
    with pytest.raises(RackspanError) as e:
        hosts.links.check(samples=1, rounds=1)
    assert e.value.code is Exit.ENVIRONMENT
    assert e.value.what == "the delays between racks are not what was requested"
    assert "a-b no answer (requested 6 ms)" in e.value.observed


def test_a_rack_is_cut_off_from_all_others_and_healed(hosts: Hosts) -> None:
    hosts.links.cut("a")
    assert silent(hosts, "a1", "b1") and silent(hosts, "c1", "a2")
    assert reaches(hosts, "a1", "a2") and reaches(hosts, "b1", "c1")
    hosts.backend.enter()
    knock = ["bash", "-c", f"</dev/tcp/{hosts.plan.node('a1').address}/9"]
    assert b"refused" in subprocess.run(knock, capture_output=True).stderr
    assert [s.racks for s in hosts.links.check()] == ["b-c"]
    hosts.links.heal_cut("a")
    assert reaches(hosts, "a1", "b1") and reaches(hosts, "c1", "a2")


def test_a_pair_and_one_direction_are_cut(hosts: Hosts) -> None:
    hosts.links.cut("a", "b")
    assert silent(hosts, "a1", "b1") and silent(hosts, "b1", "a1")
    assert reaches(hosts, "a1", "c1") and reaches(hosts, "b1", "c1")
    hosts.links.heal_cut("b", "a")
    hosts.links.cut("c", "b", one_way=True)
    assert hosts.links.state.cuts == [("c", "b")]
    assert silent(hosts, "b1", "c1")  # its question arrives, the answer does not
    assert reaches(hosts, "a1", "b1")


def test_a_host_is_disconnected_and_connected_again(hosts: Hosts) -> None:
    hosts.links.disconnect("a2")
    assert silent(hosts, "a1", "a2") and reaches(hosts, "a1", "b1")
    hosts.links.connect("a2")
    wait_for("a2 to be back", lambda: reaches(hosts, "a1", "a2"), STUCK)


def test_unknown_racks_and_nodes_are_refused(hosts: Hosts) -> None:
    wrong: list[Callable[[], None]] = [
        lambda: hosts.links.cut("z"),
        lambda: hosts.links.set_delay("a", "z", "1ms"),
    ]
    for act in wrong:
        with pytest.raises(RackspanError) as e:
            act()
        assert str(e.value) == "rack 'z' not found\n  observed: racks: a, b, c\n  do:       name one of them"
    with pytest.raises(RackspanError, match="cannot read '7' as a time with unit"):
        hosts.links.set_delay("a", "b", "7")
    assert hosts.links.state.cuts == []


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that every user may enter. Those of pytest it closes to others each time a pytest starts."""
    with tempfile.TemporaryDirectory(prefix="rackspan-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        yield folder


def test_an_ordinary_user_gets_the_same(hosts: Hosts, open_folder: Path) -> None:
    """Runs as the user nobody, without any right, where the project's own folder cannot be read: delays are measured,
    and a kill -9 leaves no process.
    """
    if not can_become(NOBODY):
        pytest.skip("this is an ordinary user: all tests here show it")
    shared = open_folder / "shared"
    shared.mkdir()
    os.chown(shared, NOBODY, NOBODY)
    elsewhere = project_for_nobody(open_folder)
    printed = killed("netns", shared / "crashed", [*elsewhere, *readable_python(elsewhere, open_folder / "project")])
    assert [(s["racks"], s["requested_ms"]) for s in printed["observed"]] == [("a-b", 8), ("a-c", 8), ("b-c", 8)]
    assert all(abs(s["p50_ms"] - 8) <= 0.8 for s in printed["observed"]), printed
    wait_for("all to be gone", lambda: left(shared / "crashed") == [] or Pending(str(left(shared / "crashed"))), STUCK)


def test_missing_rights_are_an_environment_error(tmp_path: Path) -> None:
    """Bringing hosts up fails with exit code 4 and the reason where no user namespace can be made."""
    if not can_become(NOBODY):
        pytest.skip("only root can take rights away")
    script = (
        "import sys\nfrom pathlib import Path\nfrom harness.common.errors import RackspanError\n"
        "from harness.tests.bare_hosts import Hosts\n"
        "try:\n    Hosts('netns', Path(sys.argv[1])).backend.prepare()\n"
        "except RackspanError as e:\n    print(e)\n    sys.exit(e.code)\n"
    )
    python = readable_python(as_nobody(), project_root())
    limit = "echo 0 > /proc/sys/user/max_user_namespaces && exec"
    inside = ["unshare", "--user", "--map-root-user", "sh", "-c", f'{limit} "$@"', "sh"]
    command = [*inside, "setpriv", "--inh-caps=-all", "--bounding-set=-all", *python, "-c", script, str(tmp_path / "x")]
    done = subprocess.run(command, cwd=project_root(), capture_output=True, text=True)
    assert done.returncode == Exit.ENVIRONMENT, done.stderr
    assert done.stdout.startswith("this machine does not let this user make network namespaces\n  observed: unshare: ")


def can_become(uid: int) -> bool:
    """True for root, but not for root of a user namespace only."""
    known = [[int(n) for n in line.split()] for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return os.geteuid() == 0 and any(first <= uid < first + count for first, _, count in known)


def as_nobody() -> list[str]:
    """The beginning of a command line; `env` looks the command up when the rights are dropped already."""
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "env"]


def project_for_nobody(folder: Path) -> list[str]:
    """The beginning of a command that runs as nobody in `folder`/project, which is this project.

    Its own place may be in a home that others cannot read, as root's; here it never can be.
    """
    place = folder / "project"
    place.mkdir()
    script = 'mount --bind "$1" "$2" && mount -t tmpfs -o mode=700 tmpfs "$1" && cd "$2" && shift 2 && exec "$@"'
    private = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
    return [*private, str(project_root()), str(place), *as_nobody()]


def readable_python(user: list[str], project: Path) -> list[str]:
    """A Python with its packages that this user can run, who has the project there: this one, or that of the system."""

    def there(path: str) -> str:
        inside = Path(path).is_relative_to(project_root())
        return str(project / Path(path).relative_to(project_root())) if inside else path

    python = there(sys.executable)
    if subprocess.run([*user, python, "-c", "import pyroute2"], capture_output=True).returncode == 0:
        return [python]
    packages = there(next(p for p in sys.path if p.endswith("site-packages")))
    system = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    if shutil.which(system) is None:
        pytest.skip(f"the user nobody cannot read {sys.executable}, and there is no {system}")
    return ["env", f"PYTHONPATH={packages}", "PYTHONDONTWRITEBYTECODE=1", system]
