"""Assembles a distribution: bin/ config/ docker/ libs/ licenses/ LICENSE NOTICE, as a folder and as an archive."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

from kpatch import compile as compiler
from kpatch import jars, licences, paths, scripts, series, upstream

TEMPLATES = paths.KAFKA_PATCH / "dist"
VERSION_SCRIPT = "rackspan-kafka.sh"
_NOTICE = """Rackspan
This is a modified work: {name} {version} with the changes listed in rackspan.json.
It is not {name} and is not endorsed by The Apache Software Foundation.

The notices of {name} follow.

"""


def name(up: upstream.Upstream, kind: str) -> str:
    """Folder name of a distribution; kind is `rackspan` or `stock`."""
    return f"rackspan-kafka_2.13-{up.version}-{up.build}" if kind == "rackspan" else f"stock-kafka_2.13-{up.version}"


def replaced(up: upstream.Upstream, tree: Path, classes: Path) -> dict[str, dict[str, Path]]:
    """artifact -> classes (entry -> file) that replace official ones.

    Of a Scala module all of scalac's: its optimiser copies bodies between classes. Of a Java module, and of the Java
    sources of a mixed one, those of patched sources and our own: javac copies nothing between classes but constants,
    and the tool chain test shows that no other class changes.
    """
    changed = compiler.touched(tree)
    result = {}
    for module in up.modules:
        mine = [p.removeprefix(module.artifact + "/") for p in changed if p.startswith(module.artifact + "/")]
        mine += [p.relative_to(module.own).as_posix() for p in module.own.rglob("*.java")]
        root = tree / module.artifact
        untouched = {p.relative_to(root).as_posix() for p in root.rglob("*.java")} - set(mine)
        found = jars.class_files(classes / module.artifact)
        if module.scalac:
            keep = {e: f for e, f in found.items() if _top(e) + ".java" not in untouched}
        else:
            keep = {e: f for e, f in found.items() if any(jars.belongs(e, s) for s in mine)}
        if keep:
            result[module.artifact] = keep
    return result


def _top(entry: str) -> str:
    return entry.removesuffix(".class").split("$", 1)[0]


def assemble(
    up: upstream.Upstream, kind: str, out: Path, tree: Path | None = None, classes: Path | None = None
) -> Path:
    """Writes `out/<name>/`; with `tree` and `classes` the patched jars, else the official ones. Returns the folder."""
    target = out / name(up, kind)
    new = target.with_name(target.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    libs = new / "libs"
    libs.mkdir(parents=True)
    over = replaced(up, tree, classes) if tree and classes else {}
    for artifact in upstream.artifacts("runtime"):
        if artifact.name in over:
            jars.overlay(artifact.file, libs / artifact.file.name, over[artifact.name], up.build)
        else:
            shutil.copyfile(artifact.file, libs / artifact.file.name)
    for folder in ("bin", "config", "docker"):
        shutil.copytree(TEMPLATES / folder, new / folder)
    if kind == "stock":
        (new / "bin" / VERSION_SCRIPT).unlink()
    for script, text in scripts.generate(TEMPLATES / "scripts.toml", kind == "rackspan").items():
        (new / "bin" / script).write_text(text)
    _legal(up, kind, new)
    (new / "licenses").mkdir()
    texts = next(iter(upstream.artifacts("licences"))).file
    others = [a for a in upstream.artifacts("runtime") if a.group != "org.apache.kafka"]
    licences.write(others, licences.table(TEMPLATES / "licenses.toml"), texts, new / "licenses")
    patches = series.read_series(paths.PATCHES) if kind == "rackspan" else []
    facts = {
        "distribution": kind,
        "name": target.name,
        "base": {"name": up.name, "version": up.version, "scala": up.scala},
        "build": up.build if kind == "rackspan" else 0,
        "patches": {p: _sha256(paths.PATCHES / p) for p in patches},
        "jars": {p.name: _sha256(p) for p in sorted(libs.iterdir())},
    }
    (new / "rackspan.json").write_text(json.dumps(facts, indent=2) + "\n")
    # The umask of whoever builds must not show in the archive.
    for file in [new, *new.rglob("*")]:
        file.chmod(0o755 if file.is_dir() or file.suffix == ".sh" else 0o644)
    # Removing takes seconds on a busy machine; whoever uses the folder must not find half of it meanwhile.
    old = target.with_name(target.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)
    return target


def _legal(up: upstream.Upstream, kind: str, new: Path) -> None:
    with zipfile.ZipFile(upstream.official("kafka_2.13")) as jar:
        licence, notice = jar.read("LICENSE"), jar.read("NOTICE")
    (new / "LICENSE").write_bytes(licence)
    head = _NOTICE.format(name=up.name, version=up.version).encode() if kind == "rackspan" else b""
    (new / "NOTICE").write_bytes(head + notice)


def archive(folder: Path) -> Path:
    """`<folder>.tgz`, the same bytes for the same content: sorted, no times, no owners."""
    target = folder.with_name(folder.name + ".tgz")
    aside = target.with_name(target.name + ".new")
    with (
        aside.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for file in [folder, *sorted(folder.rglob("*"))]:
            tar.add(file, file.relative_to(folder.parent).as_posix(), recursive=False, filter=_anonymous)
    aside.replace(target)
    checksums(target)
    return target


def bill(folder: Path) -> Path:
    """The bill of materials beside the archive of a distribution."""
    return folder.with_name(folder.name + ".cdx.json")


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    info.mtime = 315532800  # 1980-01-01, as in the jars
    return info


def checksums(archive: Path) -> None:
    """Writes `<archive>.sha256` and `<archive>.sha512`, as `sha256sum -c` and `sha512sum -c` read them."""
    for kind in ("sha256", "sha512"):
        with archive.open("rb") as data:
            digest = hashlib.file_digest(data, kind).hexdigest()
        archive.with_name(f"{archive.name}.{kind}").write_text(f"{digest}  {archive.name}\n")


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
