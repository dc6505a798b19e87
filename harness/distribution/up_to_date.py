"""Finds out that a build would have nothing to do. Gradle does so as well, in five seconds of processor time."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.common.atomic_files import write_aside

INPUTS = ("build.gradle", "settings.gradle", "gradle", "kafka-patch", "harness/load/src")
OUTPUTS = ("build/dist", "build/load", "build/maven")
ARTIFACTS = "build/artifacts.json"  # files from outside, which Gradle has verified and keeps
MARK = "build/up-to-date.json"
_NO_INPUTS = {
    "work",
    "bases",
    "test",
    "tests",
    "jmh",
    "debian",
    "__pycache__",
}  # of a distribution, whatever is in them


def inputs(root: Path) -> str:
    """Digest of everything that the distributions and the load client are made of, the compiler's place included."""
    found = hashlib.sha256(repr((os.environ.get("JAVA_HOME"), _real(shutil.which("javac")))).encode())
    for file in _files(root, INPUTS):
        found.update(f"{file.relative_to(root)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def outputs(root: Path) -> str:
    """Digest of names, sizes and times of what was made, and of the files from outside; "" if one of these is gone."""
    found = hashlib.sha256()
    artifacts = root / ARTIFACTS
    if not artifacts.is_file():
        return ""
    outside = [Path(artifact["file"]) for artifact in json.loads(artifacts.read_text(encoding="utf-8"))]
    for file in [*_files(root, OUTPUTS), artifacts, *outside]:
        if not file.is_file():
            return ""
        status = file.stat()
        found.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return found.hexdigest()


def is_up_to_date(root: Path) -> bool:
    """Checks whether a build has ended here with these inputs, and nothing has touched what it made."""
    try:
        known = json.loads((root / MARK).read_text(encoding="utf-8"))
        return bool(known == {"inputs": inputs(root), "outputs": outputs(root)} and known["outputs"])
    except (OSError, ValueError):
        return False


def note(root: Path, before: str) -> None:
    """Notes that a build has ended whose inputs were these when it began."""
    write_aside(root / MARK, json.dumps({"inputs": before, "outputs": outputs(root)}) + "\n")


def _files(root: Path, places: Iterable[str]) -> Iterator[Path]:
    for place in places:
        if (root / place).is_file():
            yield root / place
        for folder, below, names in os.walk(root / place):
            below[:] = sorted(set(below) - _NO_INPUTS) if place in INPUTS else sorted(below)
            yield from (Path(folder, name) for name in sorted(names))


def _real(program: str | None) -> str | None:
    return program and os.path.realpath(program)
