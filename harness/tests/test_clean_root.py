"""The Debian package, installed with what it depends on in a Debian that has nothing else, used and purged."""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.common.paths import project_root
from harness.common.progress import Progress
from harness.distribution.build import package
from harness.tests.machine_root import MachineRoot, make_root

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(os.geteuid() != 0, reason="this is not root"),
    pytest.mark.skipif(
        not shutil.which("debootstrap", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"),
        reason="there is no debootstrap: apt-get install debootstrap",
    ),
]

HOME = "/usr/share/rackspan-kafka"
SETTINGS = "/etc/rackspan-kafka/server.properties"
# What the unit does, without systemd: its command, environment and user. Java ends with 143, a success for the unit.
SERVE = """set -eu
unit=/usr/lib/systemd/system/rackspan-kafka.service
value() {{ sed -n "s/^$1=//p" $unit; }}
cd "$(value WorkingDirectory)"
umask "$(value UMask)"
setpriv --reuid="$(value User)" --regid="$(value Group)" --init-groups --no-new-privs --inh-caps=-all \\
  env "$(value Environment)" $(value ExecStart) > /srv/console.log 2>&1 &
broker=$!
answers() {{ (exec 3<> /dev/tcp/127.0.0.1/{port}) 2> /dev/null; }}
for _ in $(seq 300); do
  if answers; then break; fi
  kill -0 $broker || {{ cat /srv/console.log; exit 1; }}
  sleep 1
done
echo kept | {home}/bin/kafka-console-producer.sh --bootstrap-server 127.0.0.1:{port} --topic orders
{home}/bin/kafka-console-consumer.sh --bootstrap-server 127.0.0.1:{port} --topic orders --from-beginning \\
  --max-messages 1 --timeout-ms 120000
stat -c %U /proc/$broker
kill -TERM $broker
code=0
wait $broker || code=$?
echo "ended with $code"
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[MachineRoot]:
    """A Debian with nothing but the package and what it depends on."""
    deb = next(file for file in package(Progress()) if file.suffix == ".deb")
    folder = Path(tempfile.mkdtemp(prefix="clean-root-", dir=project_root() / "build"))
    try:
        made = make_root(folder / "root", folder / "log")
        shutil.copyfile(deb, made.folder / "srv" / deb.name)
        ran(made, f"apt-get update && apt-get install -y --no-install-recommends /srv/{deb.name}", seconds=2400)
        yield made
    finally:
        shutil.rmtree(folder)


def ran(machine: MachineRoot, script: str, *, seconds: float = 900) -> str:
    """Output of a script on the machine, which must end with 0."""
    log = machine.folder.parent / "ran"
    log.unlink(missing_ok=True)
    done = machine.run(["bash", "-c", f"export DEBIAN_FRONTEND=noninteractive; {script}"], log, seconds=seconds)
    assert done.code == 0, f"{script}\nexit code {done.code}\n{done.tail}"
    return log.read_text(errors="replace")


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address that nothing listens on: the machine shares the network of this one."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [server.getsockname()[1] for server in found]


def found(machine: MachineRoot) -> set[str]:
    """All files and folders that have the package's name, or an owner that no longer exists."""
    text = ran(
        machine,
        r"find / -xdev \( -name '*rackspan*' -o -nouser -o -nogroup \) -not -path '/srv/*' -not -path '/proc/*'",
    )
    return set(text.split())


def test_the_installation_starts_and_enables_nothing(machine: MachineRoot) -> None:
    shown = ran(machine, "stat -c '%U:%G %a %n' /var/lib/rackspan-kafka /var/log/rackspan-kafka; id -nG rackspan-kafka")
    assert shown.splitlines() == [
        "rackspan-kafka:rackspan-kafka 750 /var/lib/rackspan-kafka",
        "rackspan-kafka:rackspan-kafka 750 /var/log/rackspan-kafka",
        "rackspan-kafka",
    ]
    assert not [name for name in found(machine) if name.startswith("/etc/systemd")]
    anyone = "setpriv --reuid=nobody --regid=nogroup --clear-groups"
    assert ran(machine, f"{anyone} {HOME}/bin/rackspan-kafka.sh --version").startswith("rackspan-kafka 4.3.1-1: ")
    assert ran(machine, "dpkg --verify rackspan-kafka") == ""


def test_a_record_is_written_and_read(machine: MachineRoot) -> None:
    """Formatted as README.Debian has it, started as the unit does, stopped as systemd does."""
    port, controller = free_ports(2)
    ran(machine, f"sed -i 's/:9092/:{port}/g; s/:9093/:{controller}/g' {SETTINGS}")
    readme = (machine.folder / "usr/share/doc/rackspan-kafka/README.Debian").read_text()
    (command,) = re.findall(r"(?m)^    (setpriv .*)$", readme)
    ran(machine, command)
    printed = ran(machine, SERVE.format(port=port, home=HOME)).splitlines()
    assert [line for line in printed if line in ("kept", "rackspan-kafka") or line.startswith("ended")] == [
        "kept",
        "rackspan-kafka",
        "ended with 143",
    ]
    logs = ran(machine, "cat /var/log/rackspan-kafka/server.log")
    assert "[KafkaRaftServer nodeId=1] Kafka Server started" in logs and "shut down completed" in logs
    owners = ran(machine, "stat -c %U:%a /var/lib/rackspan-kafka/server/orders-0/*.log /var/log/rackspan-kafka/*.log")
    assert {line.split(":")[0] for line in owners.split()} == {"rackspan-kafka"}
    assert not [line for line in owners.split() if line.endswith(("4", "5", "6", "7"))], "others may read it"


def test_changed_settings_and_records_outlive_an_upgrade(machine: MachineRoot) -> None:
    before = (machine.folder / SETTINGS.lstrip("/")).read_text()
    ran(
        machine,
        "apt-get install -y --reinstall /srv/*.deb && apt-get remove -y rackspan-kafka"
        " && apt-get install -y /srv/*.deb",
    )
    assert (machine.folder / SETTINGS.lstrip("/")).read_text() == before
    assert list((machine.folder / "var/lib/rackspan-kafka/server/orders-0").glob("*.log"))


def test_a_purge_asks_nothing_and_leaves_nothing(machine: MachineRoot) -> None:
    wants = "/etc/systemd/system/multi-user.target.wants"
    unit = "/usr/lib/systemd/system/rackspan-kafka.service"
    ran(machine, f"mkdir -p {wants} && ln -s {unit} {wants}/")  # as `systemctl enable` does
    assert {f"{wants}/rackspan-kafka.service", HOME, SETTINGS.rpartition("/")[0]} <= found(machine)
    ran(machine, "apt-get purge -y rackspan-kafka")
    assert found(machine) == set()
    assert ran(machine, "grep -c rackspan /etc/passwd /etc/group /etc/shadow || true").split() == [
        "/etc/passwd:0",
        "/etc/group:0",
        "/etc/shadow:0",
    ]
