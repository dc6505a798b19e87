"""`gradle simulate`: many seeded histories of a cluster of the real classes, in one JVM without JUnit."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from kpatch import compile as compiler
from kpatch import junit
from kpatch.errors import KpatchError

_JAVA = junit.TESTS / "java"
_CONTROLLER = [_JAVA / f"org/apache/kafka/controller/{name}.java" for name in ("SimulatedController", "Reassignments")]


def seeds(text: str) -> tuple[int, int]:
    """The first and the last seed of `FROM..TO`, or of `COUNT`, which begins with 0. Raises KpatchError."""
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text)
    if match is None:
        raise KpatchError("no such seeds", f"{text!r} is neither FROM..TO nor COUNT", "Say for example -Pseeds=0..9999")
    first, last = match.groups()
    return (0, int(first) - 1) if last is None else (int(first), int(last))


def run(libs: Path, out: Path, seed_range: tuple[int, int], perils: str, rules: str) -> int:
    """Compiles the simulation and plays the histories of these seeds. Returns 0, or 1 if one violates something."""
    path = junit.classpath(libs)
    classes = out / "classes"
    package = _JAVA / "io/rackspan/simulation"
    sources = [*_CONTROLLER, *(p for p in sorted(package.glob("*.java")) if not p.name.endswith("Test.java"))]
    compiler.compile_strict("the simulation", sources, classes, path)
    command = [compiler.tools().java, "-Xmx1g", "-XX:+UseSerialGC", "-cp", os.pathsep.join(map(str, [classes, *path]))]
    command += ["io.rackspan.simulation.Simulate", *map(str, seed_range), perils, rules]
    return subprocess.run(command, cwd=out, check=False).returncode
