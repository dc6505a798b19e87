"""A small network with everything that the network of a cluster is made of, made and gone again.

    python -m harness.network.netns_selftest

prints as JSON which filter program works and what netem says; its last line of errors says what is missing.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from harness.common.errors import RackspanError
from harness.network import namespaces
from harness.network.bridges import cable, new_network, sysctl
from harness.network.iptables import PacketFilter
from harness.network.nfqueue import DelayQueues


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
    """The kernel's error for the queueing discipline netem; "" if it has it."""
    try:
        router.tc("add", "netem", index=router.link_lookup(ifname="rack1")[0], delay=1000)
    except NetlinkError as e:
        return f"is not in this kernel (error {e.code})"
    return ""


if __name__ == "__main__":
    sys.exit(main())
