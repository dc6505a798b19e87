"""Support of this machine for networks of namespaces, tried by making one in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

from harness.common.paths import project_root
from harness.hosts.host import last_lines
from harness.network import namespaces


@dataclass(frozen=True)
class NetnsSupport:
    """Result of an attempt: `skip_reason` says why it fails, "" if it works; `observed` what it works with."""

    skip_reason: str
    observed: str


def attempt() -> NetnsSupport:
    """Makes a small network in a process of its own, and takes it away. Never raises."""
    command = [*namespaces.user_prefix(), "unshare", "--pid", "--fork", "--kill-child", "--"]
    try:
        done = subprocess.run(
            [*command, sys.executable, "-m", "harness.network.netns_selftest"],
            cwd=project_root(),
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        return NetnsSupport(str(e), "")
    if done.returncode != 0:
        return NetnsSupport(last_lines(done.stderr, 1) or f"exit code {done.returncode}", "")
    found = json.loads(done.stdout)
    who = "root" if namespaces.capable() else "a user namespace"
    return NetnsSupport(
        "", f"as {who}; delays by NFQUEUE ({found['filter']}); netem {found['netem'] or 'is there, not used'}"
    )
