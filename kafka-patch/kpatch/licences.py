"""Writes `licenses/`: the licences of all jars in `libs/`, with the notices that the jars bring."""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from kpatch.upstream import Artifact

_APACHE = "Apache-2.0"
_OWN = re.compile(r"(?:META-INF/)?(?:LICENSE|LICENCE|NOTICE|COPYING)[^/]*", re.IGNORECASE)


def table(file: Path) -> dict[str, tuple[str, str]]:
    """Name of an artifact that is not under Apache-2.0 -> its licence by the SPDX list, and its copyright notice."""
    rows = tomllib.loads(file.read_text())
    return {name: (licence, notice) for licence, names in rows.items() for name, notice in names.items()}


def write(libs: Iterable[Artifact], named: dict[str, tuple[str, str]], texts: Path, folder: Path) -> None:
    """Writes to `folder`: a text per licence, `jars.txt`, and a folder per jar with the files that it brings.

    `texts` is the jar of the SPDX library.
    """
    libs = sorted(libs, key=lambda a: a.file.name)
    rows = []
    for artifact in libs:
        licence, notice = named.get(artifact.name, (_APACHE, ""))
        rows.append(f"{artifact.file.name}  {licence}" + (f"  {notice}" if notice else ""))
        with zipfile.ZipFile(artifact.file) as jar:
            for entry in sorted(n for n in jar.namelist() if _OWN.fullmatch(n) and not n.endswith("/")):
                target = folder / artifact.file.stem / entry.rsplit("/", 1)[-1]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(jar.read(entry))
    (folder / "jars.txt").write_text("".join(f"{row}\n" for row in rows))
    with zipfile.ZipFile(texts) as jar:
        for licence in {_APACHE, *(licence for licence, _ in named.values())}:
            text = json.loads(jar.read(f"resources/stdlicenses/{licence}.json"))["licenseText"]
            (folder / f"{licence}.txt").write_text(text.rstrip() + "\n")
