"""Repacks the official jars with other classes; the same inputs give the same bytes."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

# The earliest time that a zip entry can hold: entries carry no time of the build.
_TIME = (1980, 1, 1, 0, 0, 0)
_MANIFEST = "META-INF/MANIFEST.MF"
VERSION = "kafka/kafka-version.properties"  # what --version of Kafka's tools and the AppInfo metrics read


def class_files(classes: Path) -> dict[str, Path]:
    """Entry name -> file of every class below a folder of classes."""
    return {p.relative_to(classes).as_posix(): p for p in sorted(classes.rglob("*.class"))}


def belongs(entry: str, source: str) -> bool:
    """Returns whether a class entry comes from a source `package/Name.ext`, nested and companion classes included."""
    stem = source.rsplit(".", 1)[0]
    name = entry.removesuffix(".class")
    return name == stem or name.startswith(stem + "$")


def build_named(properties: bytes, build: int) -> bytes:
    """The entry VERSION with the build behind the commit; the version, which clients send, stays that of Kafka."""
    return re.sub(rb"(?m)^(commitId=\w+)", rb"\1-rackspan-%d" % build, properties)


def overlay(official: Path, target: Path, replace: dict[str, Path], build: int) -> None:
    """Writes `target`: the official jar's entries with `replace` (entry -> file) over them, VERSION with the build."""
    with zipfile.ZipFile(official) as source:
        names = {n for n in source.namelist() if not n.endswith("/")} | replace.keys()

        def data(name: str) -> bytes:
            if name in replace:
                return replace[name].read_bytes()
            return build_named(source.read(name), build) if name == VERSION else source.read(name)

        _write(target, ((name, data(name)) for name in _order(names)))


def pack(classes: Path, target: Path) -> None:
    """Writes a jar of a folder of classes."""
    pack_files(class_files(classes), target)


def pack_files(files: dict[str, Path], target: Path) -> None:
    """Writes a jar of files (entry -> file)."""
    manifest = (_MANIFEST, b"Manifest-Version: 1.0\r\n\r\n")
    _write(target, [manifest, *((n, files[n].read_bytes()) for n in _order(files))])


def _order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda n: (n != _MANIFEST, n))


def _write(target: Path, entries: Iterable[tuple[str, bytes]]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(target.name + ".new")
    with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as jar:
        for name, data in entries:
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            info.create_system = 3
            jar.writestr(info, data)
    aside.replace(target)
