"""Machines for tests of the backend ssh: each has a network, process ids, parts of the file system, and an sshd.

    python -m harness.tests.ssh_machines COMMAND...

runs a command where these machines can be reached, with their inventory in $INVENTORY, and ends them with it. Needs
root, since sshd does.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from harness.backends.netns import NetnsBackend
from harness.common.paths import project_root
from harness.common.wait import wait_for
from harness.network import namespaces
from harness.network.netns_support import attempt
from harness.spec.cluster_spec import parse
from harness.spec.cluster_state import State
from harness.spec.topology import Node, plan
from harness.tests.limits import STUCK

SSHD = "/usr/sbin/sshd"
RACKS = {"a": 2, "b": 2, "c": 2}  # and as many more as controllers are requested, the first in rack a

CONFIG = """ListenAddress {address}
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups 200
MaxSessions 200
"""

# Files of the driver must not be visible by chance: neither its build, nor the data of nodes.
START = """mount -t tmpfs tmpfs /var/tmp && mount -t tmpfs tmpfs {build} && mount -t tmpfs tmpfs /run && mkdir /run/sshd
mkdir -p /tmp/hsperfdata_root && mount -t tmpfs tmpfs /tmp/hsperfdata_root
[ ! -e /root/.bashrc ] || mount --bind /dev/null /root/.bashrc
exec {sshd} -D -e -f {folder}/config"""


def is_root() -> bool:
    """True for root, but not for root of a user namespace only."""
    return os.geteuid() == 0 and namespaces.capable() and Path("/proc/self/uid_map").read_text().split()[2] != "1"


def skip_reason() -> str:
    """The reason why this machine and user cannot run such machines; "" if they can."""
    if not is_root():
        return "sshd needs root"
    if shutil.which("ssh") is None or not Path(SSHD).exists():
        return f"no ssh or no {SSHD}: install openssh-server"
    return attempt().skip_reason


@contextmanager
def machines(folder: Path, racks: dict[str, int] | None = None, controllers: int = 1) -> Iterator[Path]:
    """Runs machines for the time of a `with` block, whose thread reaches them; yields their inventory."""
    spec = parse({"name": "machines", "backend": "netns", "racks": racks or RACKS, "controllers": controllers})
    State(spec=spec, distribution="none", block=0, cluster_id="none").save(folder)
    network = NetnsBackend(folder)
    nodes = plan(spec).nodes
    try:
        network.bring_up(plan(spec))
        with namespaces.home_here():
            _keygen(folder / "key")
            hosts = [_start(network, node, folder) for node in nodes]
            common = {"user": "root", "key": "key", "java_home": os.environ.get("JAVA_HOME", "")}
            inventory = folder / "inventory.yaml"
            inventory.write_text(yaml.safe_dump(common | {"hosts": hosts}))
            yield inventory
    finally:
        network.take_down()


def _start(network: NetnsBackend, node: Node, cluster: Path) -> dict[str, str]:
    """Starts a machine's sshd, which ends with the network; returns its entry of the inventory."""
    folder = cluster / node.name
    folder.mkdir()
    _keygen(folder / "host")
    shutil.copy(cluster / "key.pub", folder / "authorized")
    (folder / "config").write_text(CONFIG.format(address=node.address, folder=folder))
    build = project_root() / "build"
    build.mkdir(exist_ok=True)
    inner = START.format(build=shlex.quote(str(build)), sshd=SSHD, folder=shlex.quote(str(folder)))
    apart = ["setsid", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", inner]
    script = f"{shlex.join(apart)} < /dev/null > {shlex.quote(f'{folder}/log')} 2>&1 &"
    subprocess.run(network.inside(node.name, ["bash", "-c", script], stay=True), check=True)
    log = folder / "log"
    wait_for("sshd to listen", lambda: "Server listening" in log.read_text(), STUCK, do=f"read {log}")
    return {"address": node.address, "rack": node.rack, "host_key": (folder / "host.pub").read_text().strip()}


def _keygen(file: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(file)], check=True)


def main() -> int:
    """Runs the command and returns its exit code."""
    with tempfile.TemporaryDirectory(prefix="rackspan-machines-") as folder, machines(Path(folder)) as inventory:
        return subprocess.run(sys.argv[1:], env={**os.environ, "INVENTORY": str(inventory)}).returncode


if __name__ == "__main__":
    sys.exit(main())
