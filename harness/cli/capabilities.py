"""Checks of what this machine has of what a cluster needs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.common.errors import RackspanError
from harness.common.paths import state_home
from harness.distribution.locate import KINDS, find
from harness.network.netns_support import attempt

DEFAULT_CLUSTER_MB = 2300  # resident memory of 6 brokers and 3 controllers with default heaps, and some room
DEFAULT_CLUSTER = f"the default cluster ({DEFAULT_CLUSTER_MB} MB)"
DISK_MB = 2000


@dataclass(frozen=True)
class Check:
    """The result of one check: `disables` is what cannot be used without it, `needed` says that nothing can."""

    name: str
    ok: bool
    needed: bool
    observed: str
    disables: str


def examine() -> list[Check]:
    """Runs all checks; never raises."""
    own = [_java(), _commands(), _loopback(), _cores(), _memory(), _disk()]
    return [*own, *(_distribution(kind) for kind in KINDS), _networks(), _docker()]


def _java() -> Check:
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    text = ""
    if java:
        try:
            text = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30).stderr
        except OSError as e:
            text = f"{java}: {e.strerror}"
    version = re.search(r'version "(\d+)', text)
    ok = version is not None and int(version[1]) >= 17
    observed = text.splitlines()[0] if text else "no java in JAVA_HOME or on PATH"
    return Check("java 17 or later", ok, True, observed, "everything")


def _commands() -> Check:
    missing = [name for name in ("bash", "setsid", "env") if shutil.which(name) is None]
    return Check(
        "bash, setsid", not missing, True, f"missing: {', '.join(missing)}" if missing else "found", "everything"
    )


def _loopback() -> Check:
    try:
        with socket.socket() as s:
            s.bind(("127.77.1.1", 0))
    except OSError as e:
        return Check("loopback addresses", False, True, f"127.77.1.1: {e.strerror}", "backend local")
    return Check("loopback addresses", True, True, "127.77.1.1 can be bound", "backend local")


def _cores() -> Check:
    cores = len(os.sched_getaffinity(0))
    return Check("2 cores", cores >= 2, False, str(cores), "benchmarks that mean something, and a start within 10 s")


def _memory() -> Check:
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") >> 20
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) >> 10
    return Check("memory", free >= DEFAULT_CLUSTER_MB, False, f"{free} MB available", DEFAULT_CLUSTER)


def _disk() -> Check:
    home = state_home()
    free = shutil.disk_usage(next(p for p in (home, *home.parents) if p.exists())).free >> 20
    return Check("disk", free >= DISK_MB, False, f"{free} MB free at {home}", "runs of more than a few minutes")


def _distribution(kind: str) -> Check:
    try:
        return Check(f"distribution {kind}", True, False, find(kind).version, f"clusters of {kind}")
    except RackspanError as e:
        return Check(f"distribution {kind}", False, False, f"{e.brief}; {e.do}", f"clusters of {kind}")


def _networks() -> Check:
    trial = attempt()
    return Check(
        "network namespaces",
        not trial.skip_reason,
        False,
        trial.skip_reason or trial.observed,
        "backend netns",
    )


def _docker() -> Check:
    import docker.errors  # here, as every command would wait for it

    try:
        with contextlib.closing(docker.from_env(timeout=5)) as engine:
            version = engine.version()["Version"]
    except docker.errors.DockerException as e:
        return Check("docker engine", False, False, " ".join(str(e).split())[:120], "backend docker")
    return Check("docker engine", True, False, f"version {version}", "backend docker")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
