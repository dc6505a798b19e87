"""The AppCDS archive: classes as the JVM has them loaded, made once per distribution and JDK; halves the start of a
node.

The JVM checks the archive against its own build and the class path and continues without it where they differ.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from harness.backends.base import end_processes
from harness.backends.local import MARKER, LocalBackend, LocalHost
from harness.cluster.cluster_view import view
from harness.cluster.jvm_options import NO_JMX
from harness.cluster.storage import random_id
from harness.common.errors import RackspanError
from harness.common.jvm_flags import QUICK
from harness.common.paths import claim_block, locked, locked_wait, project_root, release_block
from harness.common.progress import Progress, Update
from harness.common.wait import wait_for
from harness.distribution.locate import Distribution
from harness.hosts.host import ProcessState, last_lines
from harness.spec.topology import BROKER_PORT, CONTROLLER_PORT


def archive_for(distribution: Distribution, progress: Progress | None = None) -> str | None:
    """Path of the distribution's archive, made if there is none; None if it cannot be made (nodes then start without
    it).
    """
    progress = progress or Progress()
    path = _folder() / f"{distribution.version}-{_key(distribution)}.jsa"
    if path.exists():
        return str(path)
    with locked_wait(_folder() / "lock"):
        if not path.exists():
            with progress.step("class archive made (once per distribution)") as update:
                try:
                    _make(distribution, path, update)
                except RackspanError as e:
                    progress.note(f"no class archive, nodes start slower: {e.what}; {e.observed}")
                    return None
    return str(path)


def clear() -> None:
    """Ends processes left over from the interrupted making of an archive; none if one is being made."""
    for folder in _folder().glob("*.making"):
        with contextlib.suppress(RackspanError), locked(_folder() / "lock", busy="a class archive is being made"):
            _clear(folder)


def _clear(folder: Path) -> None:
    end_processes(folder, LocalBackend())
    shutil.rmtree(folder, ignore_errors=True)


def _folder() -> Path:
    return project_root() / "build" / "cds"


def _key(distribution: Distribution) -> str:
    home = os.environ.get("JAVA_HOME")
    lines = subprocess.run([f"{home}/bin/java" if home else "java", "-version"], capture_output=True, text=True).stderr
    java = " ".join(re.findall(r'version "[^"]+"|\(build [^)]+\)', lines))  # a JVM may write warnings beside it
    jars = [
        f"{p.name} {p.stat().st_size} {p.stat().st_mtime_ns}" for p in sorted((distribution.home / "libs").glob("*"))
    ]
    return hashlib.sha256("\n".join([java, str(distribution.home), *jars]).encode()).hexdigest()[:12]


def _make(distribution: Distribution, path: Path, update: Update) -> None:
    """Runs one node that is broker and controller until it serves, and lets its JVM write the archive as it ends."""
    folder = path.with_suffix(".making")
    _clear(folder)
    folder.mkdir(parents=True)
    block = claim_block(folder)
    address = f"127.{block}.255.1"  # above every rack's
    try:
        _run_once(distribution, LocalHost("class archive", address, str(folder)), folder / "archive.jsa", update)
        for old in path.parent.glob(f"{distribution.version}-*.jsa"):
            old.unlink()  # of an earlier build or JDK; a JVM that has it mapped keeps it
        (folder / "archive.jsa").replace(path)
    finally:
        _clear(folder)
        release_block(folder, block)


def _run_once(distribution: Distribution, host: LocalHost, archive: Path, update: Update) -> None:
    properties, console = f"{host.root}/server.properties", f"{host.root}/console.log"
    host.write(
        properties,
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        f"controller.quorum.voters=1@{host.address}:{CONTROLLER_PORT}\nlog.dirs={host.root}/data\n"
        f"listeners=PLAINTEXT://{host.address}:{BROKER_PORT},CONTROLLER://{host.address}:{CONTROLLER_PORT}\n",
    )
    env = {"KAFKA_HEAP_OPTS": "-Xmx384m", "KAFKA_OPTS": "", "LOG_DIR": f"{host.root}/logs", MARKER: host.root}
    env |= {"KAFKA_JVM_PERFORMANCE_OPTS": " ".join(QUICK), "KAFKA_JMX_OPTS": NO_JMX, "EXTRA_ARGS": "-name kafkaServer"}
    host.run([distribution.script("kafka-storage.sh"), "format", "-t", random_id(), "-c", properties], env=env)
    env["KAFKA_JVM_PERFORMANCE_OPTS"] += f" -XX:ArchiveClassesAtExit={archive}"
    start = [distribution.script("kafka-server-start.sh"), properties]
    process = host.start(start, pid_file=f"{host.root}/pid", output=console, env=env)
    do = "nodes start without an archive, only slower"
    wait_for(
        "a node to load its classes", lambda: view([f"{host.address}:{BROKER_PORT}"]).racks, 60, do=do, update=update
    )
    host.signal(process, signal.SIGTERM)
    wait_for("the JVM to write the archive", lambda: host.state(process) is ProcessState.GONE, 60, do=do, update=update)
    if not archive.exists():
        raise RackspanError("the JVM wrote no archive", observed=last_lines(host.read(console)), do=do)
