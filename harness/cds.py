"""The AppCDS archive: classes as the JVM has them loaded, made once per distribution and JDK; halves the start of a
node.

The JVM checks the archive against its own build and the class path and goes on without it where they differ.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import storage
from harness.admin import view
from harness.backends.local import LocalHost
from harness.dist import Distribution
from harness.errors import RackspanError
from harness.home import claim_block, locked_wait, project_root, release_block
from harness.jvm import QUICK
from harness.progress import Progress, Seen
from harness.topology import BROKER_PORT, CONTROLLER_PORT
from harness.wait import wait_for


def archive_for(distribution: Distribution, progress: Progress | None = None) -> str | None:
    """Path of the distribution's archive, made if there is none; None if it cannot be made (nodes then start without
    it).
    """
    progress = progress or Progress()
    path = project_root() / "build" / "cds" / f"{distribution.version}-{_key(distribution)}.jsa"
    if path.exists():
        return str(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked_wait(path.with_suffix(".lock")):
        if not path.exists():
            with progress.step("class archive made (once per distribution)") as seen:
                try:
                    _make(distribution, path, seen)
                except RackspanError as e:
                    progress.note(f"no class archive, nodes start slower: {e.what}; {e.seen}")
                    return None
    return str(path)


def _key(distribution: Distribution) -> str:
    java = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr
    jars = [
        f"{p.name} {p.stat().st_size} {p.stat().st_mtime_ns}" for p in sorted((distribution.home / "libs").glob("*"))
    ]
    return hashlib.sha256("\n".join([java, str(distribution.home), *jars]).encode()).hexdigest()[:12]


def _make(distribution: Distribution, path: Path, seen: Seen) -> None:
    """Runs one node that is broker and controller until it serves, and lets its JVM write the archive as it ends."""
    with tempfile.TemporaryDirectory(prefix="rackspan-cds-") as folder:
        part = path.with_suffix(f".{os.getpid()}.part")
        block = claim_block(Path(folder))
        address = f"127.{block}.255.1"
        host = LocalHost("class archive", address, folder)
        properties = f"{folder}/server.properties"
        host.write(
            properties,
            "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
            f"controller.quorum.voters=1@{address}:{CONTROLLER_PORT}\nlog.dirs={folder}/data\n"
            f"listeners=PLAINTEXT://{address}:{BROKER_PORT},CONTROLLER://{address}:{CONTROLLER_PORT}\n",
        )
        env = {"KAFKA_HEAP_OPTS": "-Xmx384m", "KAFKA_OPTS": "", "LOG_DIR": f"{folder}/logs"}
        env["KAFKA_JVM_PERFORMANCE_OPTS"] = " ".join(QUICK)
        tool = [distribution.script("kafka-storage.sh"), "format", "-t", storage.random_id(), "-c", properties]
        host.run(tool, env=env)
        env["KAFKA_JVM_PERFORMANCE_OPTS"] += f" -XX:ArchiveClassesAtExit={part}"
        start = [distribution.script("kafka-server-start.sh"), properties]
        process = host.start(start, pid_file=f"{folder}/pid", output=f"{folder}/console.log", env=env)
        try:
            wait_for("a node to load its classes", lambda: view([f"{address}:{BROKER_PORT}"]).racks, 60, seen=seen)
            host.signal(process, signal.SIGTERM)
            wait_for("the JVM to write the archive", lambda: host.state(process).value == "gone", 60, seen=seen)
            if not part.exists():
                raise RackspanError(
                    "the JVM wrote no archive", seen=host.read(f"{folder}/console.log")[-300:], do="go on"
                )
            for old in path.parent.glob(f"{distribution.version}-*.jsa"):
                old.unlink()  # of an earlier build or JDK; a JVM that has it mapped keeps it
            part.replace(path)
        finally:
            host.signal(process, signal.SIGKILL)
            part.unlink(missing_ok=True)
            release_block(Path(folder), block)
