"""The test classes of jars: which there are, which start clusters, which a tier wants."""

from __future__ import annotations

import json
import struct
import tomllib
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from harness.common.errors import environment_error
from harness.common.paths import project_root

_ABSTRACT = 0x0400
_INTERFACE = 0x0200
# Bytes behind the tag of each entry of a class file's constant pool (JVMS 4.4); 1 is a text with its length in front.
_WIDTHS = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
# What classes name that start brokers: their tests go one class a JVM.
_CLUSTERS = ("kafka/server/QuorumTestHarness", "kafka/common/test/api/Cluster", "kafka/common/test/KafkaCluster")


@dataclass(frozen=True)
class Selection:
    """`kafka-patch/upstream-tests.toml`."""

    quick: tuple[str, ...]
    limits: dict[str, float]
    skipped: dict[str, str]
    differs: dict[str, str]

    def limit(self, name: str) -> float:
        """Seconds that a class may take."""
        return self.own_limit(name) or self.limits["default"]

    def own_limit(self, name: str) -> float | None:
        """Seconds of a class that is listed as slow; None for any other."""
        return max((seconds for pattern, seconds in self.limits.items() if fnmatchcase(name, pattern)), default=None)

    def reason_to_skip(self, name: str) -> str | None:
        """The reason why a class does not run here; None if it does."""
        return next((why for pattern, why in self.skipped.items() if fnmatchcase(name, pattern)), None)


def selection(level: int, file: Path | None = None) -> Selection:
    """Reads the list of tiers, limits and known differences of clusters at that level of rackspan.version."""
    raw = tomllib.loads((file or project_root() / "kafka-patch" / "upstream-tests.toml").read_text(encoding="utf-8"))
    differs = raw["differs"] | raw["differs_at"]["raised" if level else "zero"]
    return Selection(tuple(raw["quick"]), raw["limits"], raw["skipped"], differs)


@dataclass(frozen=True)
class Artifact:
    """A locked file of the build: what it is, the SHA-256 of its content, where it lies."""

    name: str
    sha256: str
    file: Path


def artifacts(*roles: str) -> list[Artifact]:
    """Locked files of some roles, in the order of the roles. Raises RackspanError (exit code 4) before a build."""
    listing = project_root() / "build" / "artifacts.json"
    if not listing.is_file():
        raise environment_error(
            "artifacts are not resolved", observed=f"{listing} is missing", do="build with `./rackspan build`"
        )
    rows = json.loads(listing.read_text(encoding="utf-8"))
    found = [Artifact(a["name"], a["sha256"], Path(a["file"])) for role in roles for a in rows if role in a["roles"]]
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class ClassFile:
    """Parts of a class file: its superclass, flags, and the texts of its constant pool."""

    parent: str
    flags: int
    texts: frozenset[str]


def read_class(data: bytes) -> ClassFile:
    """Parses the head of a class file (JVMS 4.1)."""
    count = struct.unpack_from(">H", data, 8)[0]
    at, index = 10, 1
    texts: dict[int, str] = {}
    names: dict[int, int] = {}
    while index < count:
        tag = data[at]
        if tag == 1:
            length = struct.unpack_from(">H", data, at + 1)[0]
            texts[index] = data[at + 3 : at + 3 + length].decode("utf-8", "replace")
            at += 3 + length
        else:
            if tag == 7:
                names[index] = struct.unpack_from(">H", data, at + 1)[0]
            at += 1 + _WIDTHS[tag]
        index += 2 if tag in (5, 6) else 1
    flags, _, parent = struct.unpack_from(">HHH", data, at)
    return ClassFile(texts[names[parent]] if parent else "", flags, frozenset(texts.values()))


class JarClasses:
    """The classes of some jars."""

    def __init__(self, jars: Iterable[Path]) -> None:
        self._classes: dict[str, ClassFile] = {}
        for jar in jars:
            with zipfile.ZipFile(jar) as content:
                for entry in content.namelist():
                    if entry.endswith(".class") and "$" not in entry:
                        self._classes.setdefault(entry.removesuffix(".class"), read_class(content.read(entry)))

    @cached_property
    def tests(self) -> list[str]:
        """Names of the test classes that are no bases of others only."""
        named = {n: c for n, c in self._classes.items() if n.endswith("Test")}
        return sorted(n.replace("/", ".") for n, c in named.items() if not c.flags & (_ABSTRACT | _INTERFACE))

    def starts_cluster(self, name: str) -> bool:
        """True if a class, or one that it extends, names what starts brokers."""
        entry = name.replace(".", "/")
        while (found := self._classes.get(entry)) is not None:
            if any(mark in text for text in found.texts for mark in _CLUSTERS):
                return True
            entry = found.parent
        return False


def matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Names that match at least one shell pattern; a simple class name matches in any package."""
    wanted = [p if "." in p or "*" in p else f"*.{p}" for p in patterns]
    return [n for n in names if any(fnmatchcase(n, p) for p in wanted)]
