"""`checkPatches`: a patch folder that can be trusted. Each failed check is one line."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kpatch import paths, series, upstream, worktree
from kpatch.errors import KpatchError
from kpatch.git import git

GENERATED = "THIS CODE IS AUTOMATICALLY GENERATED"
LICENCE = "// SPDX-License-Identifier: Apache-2.0"


def header(patch: series.Patch) -> list[str]:
    """A reason of at least one sentence, and the trailers Proposal, Origin and Forwarded."""
    found = []
    missing = [t for t in series.TRAILERS if t not in patch.trailers]
    if missing:
        found.append(f"{patch.name}: header lacks {', '.join(missing)}; add the trailer to the commit and rebuild")
    paragraphs = [p for p in patch.body.strip().split("\n\n") if p.strip()]
    if len(paragraphs) - (not missing) < 1:
        found.append(f"{patch.name}: header gives no reason; say in the commit's body why the patch exists")
    if patch.name != series.slug(patch.subject):
        found.append(f"{patch.name}: file name is not its subject's ({series.slug(patch.subject)}); rebuild")
    return found


def content(patch: series.Patch, tree: Path) -> list[str]:
    """No context lines, no generated file."""
    found = []
    for f in patch.files:
        if f.context:
            found.append(f"{patch.name}: {f.path} has {f.context} context line(s); rebuild writes patches without any")
        if GENERATED in git(tree, "show", f"{worktree.BASE}:{f.path}", ok=False)[:4000]:
            found.append(f"{patch.name}: {f.path} is a generated file; change what it is generated from")
    return found


def licences(folder: Path) -> list[str]:
    """Each Java file begins with the licence that it is under: the base's."""
    return [
        f"{file.relative_to(folder)}: begin it with the line {LICENCE}"
        for file in sorted(folder.rglob("*.java"))
        if file.read_text(encoding="utf-8").partition("\n")[0] != LICENCE
    ]


def check(up: upstream.Upstream, sources: dict[str, Path], patches: Path = paths.PATCHES) -> list[str]:
    """All findings on a patch folder, empty when it is sound."""
    texts = {name: (patches / name).read_text() for name in series.read_series(patches)}
    parsed = []
    found: list[str] = []
    for name, text in texts.items():
        try:
            parsed.append(series.parse(name, text))
        except KpatchError as e:
            found.append(str(e))
    for patch in parsed:
        found += header(patch)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        worktree.import_base(tree, up, sources)
        for patch in parsed:
            found += content(patch, tree)
        try:
            for patch in parsed:
                worktree.apply_patch(tree, patch, texts[patch.name])
        except KpatchError as e:
            return [*found, str(e)]
        again = worktree.export(tree)
        for name in texts.keys() | again.keys():
            if texts.get(name) != again.get(name):
                found.append(f"{name}: apply and rebuild does not give it back; run: gradle rebuildPatches")
    return found
