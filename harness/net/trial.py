"""Whether this machine and user can have networks of namespaces, tried by making one.

    python -m harness.net.trial

prints as JSON which filter program works and what netem says; its last line of errors says what is missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from harness.backends.base import last_lines
from harness.errors import RackspanError
from harness.home import project_root
from harness.net import namespaces
from harness.net.fabric import cable, new_network, sysctl
from harness.net.nfqueue import DelayQueues
from harness.net.packets import PacketFilter


@dataclass(frozen=True)
class Trial:
    """`hindrance` says why it does not work, "" if it does; `seen` what it works with."""

    hindrance: str
    seen: str


def attempt() -> Trial:
    """Makes a small network in a process of its own, and takes it away. Never raises."""
    command = [*namespaces.user_prefix(), "unshare", "--pid", "--fork", "--kill-child", "--"]
    try:
        done = subprocess.run(
            [*command, sys.executable, "-m", "harness.net.trial"],
            cwd=project_root(),
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        return Trial(str(e), "")
    if done.returncode != 0:
        return Trial(last_lines(done.stderr, 1) or f"exit code {done.returncode}", "")
    found = json.loads(done.stdout)
    who = "root" if namespaces.capable() else "a user namespace"
    return Trial("", f"as {who}; delays by NFQUEUE ({found['filter']}); netem {found['netem'] or 'is there, not used'}")


def main() -> int:
    """Tries everything that the network of a cluster is made of."""
    try:
        namespaces.unshare(namespaces.CLONE_NEWNET)
        with tempfile.TemporaryDirectory() as folder, IPRoute() as router:
            sysctl("/proc/sys/net/ipv4/ip_forward", "1")
            router.link("add", ifname="rack1", kind="bridge")
            cable(router, "rack1.1", "rack1", new_network())
            DelayQueues().set(0, 1_000_000)
            netem = _netem(router)
            program = PacketFilter(Path(folder) / "rules").program
    except RackspanError as e:
        print(e.brief, file=sys.stderr)
        return 1
    except (OSError, NetlinkError) as e:
        print(f"{type(e).__name__}: {e}", file=sys.stderr)
        return 1
    print(json.dumps({"filter": program, "netem": netem}))
    return 0


def _netem(router: IPRoute) -> str:
    """What the kernel says to the queueing discipline netem; "" if it has it."""
    try:
        router.tc("add", "netem", index=router.link_lookup(ifname="rack1")[0], delay=1000)
    except NetlinkError as e:
        return f"is not in this kernel (error {e.code})"
    return ""


if __name__ == "__main__":
    sys.exit(main())
