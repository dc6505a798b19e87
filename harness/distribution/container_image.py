"""An image of a distribution, made without a registry: programs of this machine with the libraries they need, a Java of
the modules that Kafka uses, and the distribution. About 190 MB, for engines of this machine's kind only. User, ports,
volumes and the entry point are those of the Dockerfile, and of the official image.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from harness.common.errors import environment_error
from harness.common.paths import locked_wait, project_root
from harness.common.progress import Progress
from harness.distribution.locate import Distribution

KAFKA = Path("/opt/kafka")  # where the distribution lies in an image
JAVA = Path("/opt/java")
USER = 1000  # as in the official image
VOLUMES = ("/etc/kafka/secrets", "/var/lib/kafka/data", "/mnt/shared/config")
ENTRY = f"{KAFKA}/docker/entrypoint.sh"
HEALTH = f"--interval=5s --timeout=5s --start-period=60s --retries=3 CMD {KAFKA}/docker/healthcheck.sh"
PROGRAMS = (
    "bash sh env echo pwd cat ls cp mv rm mkdir rmdir chmod chown touch ln stat tail head cut tr sort uniq wc tee "
    "date df grep sed awk find xargs dirname basename readlink realpath uname hostname id expr printf test true "
    "false sleep timeout nohup setsid prlimit tar gzip ps kill truncate seq od ip perl"
)
MODULES = (
    "java.base java.logging java.management java.naming java.security.jgss java.security.sasl java.sql java.xml "
    "java.desktop java.instrument java.net.http java.rmi java.scripting jdk.unsupported jdk.management "
    "jdk.management.agent jdk.crypto.ec jdk.zipfs jdk.jcmd jdk.attach jdk.httpserver"
)
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n"
    f"appuser:x:{USER}:{USER}::/tmp:/bin/bash\n",
    "etc/group": f"root:x:0:\nappuser:x:{USER}:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def tag_of(distribution: Distribution) -> str:
    """The name of its image: another build has another."""
    return f"rackspan:{distribution.version}-{distribution.digest}"


def make(engine: Any, distribution: Distribution, progress: Progress) -> str:
    """The tag of the distribution's image, which is made if the engine has none. Raises RackspanError."""
    tag = tag_of(distribution)
    if engine.images.list(name=tag):
        return tag
    with progress.step(f"image {tag} made (once a build)"), tempfile.TemporaryFile() as archive:
        _write(archive, distribution)
        archive.seek(0)
        name, _, version = tag.partition(":")
        path = f"{JAVA}/bin:{KAFKA}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        changes = [f"ENV JAVA_HOME={JAVA}", f"ENV PATH={path}", *_starts(distribution)]
        parts = iter(lambda: archive.read(1 << 20), b"")
        engine.api.import_image_from_stream(parts, repository=name, tag=version, changes=changes)
    return tag


def _starts(distribution: Distribution) -> list[str]:
    """Settings of the image: how a container starts. A distribution from elsewhere has no entry point."""
    if not (distribution.home / "docker").is_dir():
        return ['CMD ["bash"]']
    places = [f"VOLUME {json.dumps(VOLUMES)}", "EXPOSE 9092", f"USER {USER}"]
    return [*places, f"HEALTHCHECK {HEALTH}", f"ENTRYPOINT {json.dumps([ENTRY])}"]


def _write(archive: Any, distribution: Distribution) -> None:
    java = _java()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in ("tmp", "var/tmp", "root", "run", "proc", "sys", "dev"):
            _folder(tar, name, 0o1777 if name.endswith("tmp") else 0o755)
        for name in ("bin", "sbin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            tar.addfile(link)
            _folder(tar, f"usr/{name}", 0o755)
        for name, text in FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
        programs = {name: path for name in PROGRAMS.split() if (path := shutil.which(name))}
        for name, path in programs.items():
            tar.add(Path(path).resolve(), f"usr/bin/{name}", filter=_roots)
        own = [p for p in java.rglob("*") if p.suffix == ".so" or p.parent.name == "bin"]
        needed = _libraries([*(Path(p).resolve() for p in programs.values()), *own])
        # /lib is /usr/lib, here or in the image
        places = {f"usr/{str(p).lstrip('/').removeprefix('usr/')}": p for p in needed if not p.is_relative_to(java)}
        for place, library in places.items():
            tar.add(library.resolve(), place, filter=_roots)
        for modules in Path("/usr/lib").glob("*/perl-base"):
            tar.add(modules, str(modules).lstrip("/"), filter=_roots)
        tar.add(java, str(JAVA).lstrip("/"), filter=_roots)
        tar.add(distribution.home, str(KAFKA).lstrip("/"), filter=_without_logs)
        for place in (*VOLUMES, f"{KAFKA}/logs"):
            _folder(tar, place.lstrip("/"), 0o775, USER)


def _folder(tar: tarfile.TarFile, name: str, mode: int, owner: int = 0) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.uid = tarfile.DIRTYPE, mode, owner  # of group 0, which a user of any id may be in
    tar.addfile(entry)


def _roots(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode |= 0o444 | (0o111 if entry.mode & 0o100 else 0)
    return entry


def _without_logs(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """The same but for what scripts logged that ran where the distribution lies."""
    return None if Path("/", entry.name).is_relative_to(KAFKA / "logs") else _roots(entry)


def _libraries(files: list[Path]) -> list[Path]:
    """Every library that these files need, by the path that the loader looks for; scripts need none."""
    done = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True)
    return sorted({Path(p) for p in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", done.stdout, re.MULTILINE)})


def _java() -> Path:
    """A Java of just the modules that Kafka needs, made once per JDK. Raises RackspanError (exit code 4)."""
    home = os.environ.get("JAVA_HOME")
    jlink = f"{home}/bin/jlink" if home else shutil.which("jlink")
    if jlink is None or not Path(jlink).exists():
        raise environment_error(
            "an image needs a JDK", observed="no jlink in JAVA_HOME or on PATH", do="install one, or use the Dockerfile"
        )
    key = hashlib.sha256(f"{Path(jlink).resolve()} {Path(jlink).stat().st_mtime_ns} {MODULES}".encode()).hexdigest()
    made = project_root() / "build" / "image" / f"java-{key[:12]}"
    with locked_wait(made.parent / "lock"):
        if not made.exists():
            part = made.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            options = [
                "--add-modules",
                ",".join(MODULES.split()),
                "--no-header-files",
                "--no-man-pages",
                "--output",
                str(part),
            ]
            done = subprocess.run([jlink, *options], capture_output=True, text=True)
            if done.returncode != 0:
                raise environment_error(
                    "cannot make a Java for the image",
                    observed=done.stdout.strip()[-300:],
                    do="see whether the JDK is complete",
                )
            part.rename(made)
    return made
