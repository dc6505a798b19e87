"""The JDK that compiles and runs Kafka: found on this machine, and put where programs look for it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

VERSIONS = range(17, 26)
DEBIAN = Path("/usr/lib/jvm")  # where Debian and Ubuntu install theirs
_RELEASE = re.compile(r'^JAVA_VERSION="(\d+)', re.MULTILINE)


def find_jdk(debian: Path = DEBIAN) -> Path | None:
    """The first with a compiler for 17 to 25: JAVA_HOME, PATH, then 17 and 21 as Debian names them."""
    return next((home for home in _places(debian) if version(home) in VERSIONS), None)


def version(home: Path) -> int | None:
    """Major version of the JDK in a folder; None if there is no compiler."""
    release = home / "release"
    if not (home / "bin" / "javac").exists() or not release.is_file():
        return None
    found = _RELEASE.search(release.read_text(encoding="utf-8"))
    return int(found[1]) if found else None


def use_jdk() -> bool:
    """Sets JAVA_HOME and PATH, for this process and those it starts; False without a JDK."""
    home = find_jdk()
    if home is None:
        return False
    os.environ["JAVA_HOME"] = str(home)
    programs = str(home / "bin")
    if os.environ.get("PATH", "").split(os.pathsep)[0] != programs:
        os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    return True


def _places(debian: Path) -> Iterator[Path]:
    if given := os.environ.get("JAVA_HOME"):
        yield Path(given)
    if compiler := shutil.which("javac"):
        yield Path(compiler).resolve().parents[1]
    for name in ("java-17-openjdk-*", "java-21-openjdk-*"):
        yield from sorted(debian.glob(name))
