"""The pinned base: its versions (`upstream.toml`) and its verified files (`artifacts.json`)."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

from kpatch import paths
from kpatch.errors import KpatchError


@dataclass(frozen=True)
class Module:
    """One upstream artifact whose sources may be patched."""

    artifact: str
    release: int
    skip: frozenset[str]
    scalac: tuple[str, ...]

    @property
    def own(self) -> Path:
        """Folder of our own classes that are packed into this artifact (may be absent)."""
        return paths.OWN / self.artifact / "java"


@dataclass(frozen=True)
class Upstream:
    """`upstream.toml`."""

    name: str
    version: str
    scala: str
    build: int
    modules: tuple[Module, ...]

    def module(self, artifact: str) -> Module:
        """The module of that name; KeyError if it is not one."""
        return next(m for m in self.modules if m.artifact == artifact)


def load(file: Path = paths.KAFKA_PATCH / "upstream.toml", base: Path = paths.HOME / "upstream.toml") -> Upstream:
    """Reads `upstream.toml`, overridden by another base's version, Scala and build."""
    if not base.is_file():
        raise KpatchError(f"there is no base {base.parent.name}", f"{base} is missing", "Name a folder of bases/")
    raw = tomllib.loads(file.read_text()) | tomllib.loads(base.read_text())
    modules = tuple(
        Module(m["artifact"], m["release"], frozenset(m.get("skip", ())), tuple(m.get("scalac", ())))
        for m in raw["module"]
    )
    return Upstream(raw["name"], raw["version"], raw["scala"], raw["build"], modules)


@dataclass(frozen=True)
class Artifact:
    """One verified file: group:name:version[:classifier], where it is used, where it lies."""

    group: str
    name: str
    version: str
    classifier: str
    roles: tuple[str, ...]
    sha256: str
    file: Path


def artifacts(role: str, file: Path = paths.ARTIFACTS) -> list[Artifact]:
    """Verified artifacts of a role (runtime, sources, scalac, agent, test), in the lock file's order."""
    if not file.is_file():
        raise KpatchError("artifacts are not resolved", f"{file.name} is missing", "Run: gradle verifyArtifacts")
    found = []
    for a in json.loads(file.read_text()):
        if role in a["roles"]:
            found.append(
                Artifact(
                    a["group"],
                    a["name"],
                    a["version"],
                    a["classifier"],
                    tuple(a["roles"]),
                    a["sha256"],
                    Path(a["file"]),
                )
            )
    return found


def runtime() -> list[Path]:
    """The official run-time jars."""
    return [a.file for a in artifacts("runtime")]


def official(artifact: str, role: str = "runtime") -> Path:
    """The official jar (or sources jar) of one artifact."""
    for a in artifacts(role):
        if a.name == artifact:
            return a.file
    raise KpatchError("no such artifact", f"{artifact} has no role {role} in gradle/artifacts.lock", "Add it there")
