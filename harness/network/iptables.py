"""The kernel's packet filter, set all at once by whichever of its programs works on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from harness.common.atomic_files import write_aside
from harness.common.errors import environment_error
from harness.hosts.host import last_lines

PROGRAMS = ("iptables-nft-restore", "iptables-legacy-restore", "iptables-restore")
_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
_TRIAL = "*filter\n-A FORWARD -i none -j NFQUEUE --queue-num 0 --queue-bypass\nCOMMIT\n"


class PacketFilter:
    """Sets the filter of this process' network; `file` holds what was set last.

    Raises RackspanError (exit code 4) if no program can set one that queues: machines differ in which do.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.program = ""
        tried: list[str] = []
        for name in PROGRAMS:
            self.program = name
            try:
                job = self.start(_TRIAL)
            except FileNotFoundError:
                tried.append(f"no {name}")
                continue
            _, error = job.communicate()
            if job.returncode == 0:
                return
            tried.append(f"{name}: {last_lines(error)}")
        raise environment_error(
            "no program can queue packets",
            observed="; ".join(tried),
            do="install iptables (Debian, Ubuntu: apt-get install iptables); the kernel needs NFQUEUE",
        )

    def start(self, text: str) -> subprocess.Popen[str]:
        """Starts replacing the filter, which the kernel then does at one moment."""
        write_aside(self._file, text)
        environment = {"PATH": _PATH, "XTABLES_LOCKFILE": f"{self._file}.lock"}
        with self._file.open() as source:
            return subprocess.Popen(
                [self.program],
                stdin=source,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
