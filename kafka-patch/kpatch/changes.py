"""Lists the classes of a distribution that are not the official ones, with their patches: `changed-classes.txt`."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from kpatch import jars, paths, series, upstream
from kpatch.errors import KpatchError

LIST = paths.HOME / "changed-classes.txt"
_HEAD = "# Classes that are not the official ones, with the patches of their sources; written by: gradle listChanges\n"
OWN = "own class"
# Scala's optimiser copies bodies between classes: one may change though its source does not.
FOLLOWS = "follows from others"


def text(up: upstream.Upstream, libs: Path) -> str:
    """The list for the jars in `libs`. Raises KpatchError where something else than a class differs."""
    official = {a.file.name: a for a in upstream.artifacts("runtime")}
    present = {p.name for p in libs.iterdir()}
    wrong = [f"{n}: not in {libs.parent.name}" for n in sorted(official.keys() - present)]
    wrong += [f"{n}: no official jar" for n in sorted(present - official.keys())]
    patches = [series.parse(n, (paths.PATCHES / n).read_text()) for n in series.read_series(paths.PATCHES)]
    modules = {m.artifact: m for m in up.modules}
    lines = []
    for name in sorted(official.keys() & present):
        artifact = official[name].name
        if (libs / name).read_bytes() == official[name].file.read_bytes():
            continue
        if artifact not in modules:
            wrong.append(f"{name}: differs from the official jar, and is none that may be patched")
            continue
        for entry, data in _differing(official[name].file, libs / name, up.build, wrong):
            by = [p.name.removesuffix(".patch") for p in patches if _touches(p, artifact, entry, data)]
            own = (modules[artifact].own / (_top(entry) + ".java")).is_file()
            lines.append(f"{artifact} {entry.removesuffix('.class')}: {OWN if own else ', '.join(by) or FOLLOWS}")
    if wrong:
        raise KpatchError(
            f"{libs.parent.name} differs from the official jars where it must not",
            "\n  " + "\n  ".join(wrong),
            "\nBuild it again: gradle dist",
        )
    return _HEAD + "".join(f"{line}\n" for line in lines)


def check(new: str, file: Path = LIST) -> None:
    """Raises KpatchError with each class that the list in the repository lacks, or has too many."""
    old = file.read_text() if file.is_file() else _HEAD
    before, after = set(old.splitlines()), set(new.splitlines())
    found = [f"+ {line}" for line in sorted(after - before)] + [f"- {line}" for line in sorted(before - after)]
    if found:
        raise KpatchError(
            "the patches change other classes than the list says",
            "\n  " + "\n  ".join(found),
            f"\nIf that is meant: gradle listChanges, and commit {file.name} with the patch",
        )


def _differing(official: Path, built: Path, build: int, wrong: list[str]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(official) as a, zipfile.ZipFile(built) as b:
        old = {n for n in a.namelist() if not n.endswith("/")}
        new = {n for n in b.namelist() if not n.endswith("/")}
        wrong += [f"{built.name}: {n} is missing" for n in sorted(old - new)]
        for entry in sorted(new):
            data = b.read(entry)
            if entry in old and data == (
                jars.build_named(a.read(entry), build) if entry == jars.VERSION else a.read(entry)
            ):
                continue
            if entry.endswith(".class"):
                yield entry, data
            else:
                wrong.append(f"{built.name}: {entry} is not the official one")


def _touches(patch: series.Patch, artifact: str, entry: str, data: bytes) -> bool:
    """Returns whether a patch touches the source of a class: by its name, or by the source name in the class file."""
    for file in patch.files:
        module, _, source = file.path.partition("/")
        if module != artifact:
            continue
        path = PurePosixPath(source)
        if jars.belongs(entry, source) or (PurePosixPath(entry).parent == path.parent and path.name.encode() in data):
            return True
    return False


def _top(entry: str) -> str:
    return entry.removesuffix(".class").split("$", 1)[0]
