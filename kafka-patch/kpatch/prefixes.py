"""Proof that the series compiles patch by patch: each prefix, with those of our own classes that it needs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from kpatch import compile as compiler
from kpatch import paths, series, upstream, worktree
from kpatch.errors import KpatchError
from kpatch.git import git

_WORD = re.compile(r"\w+")


def check(up: upstream.Upstream, sources: dict[str, Path], out: Path, say: compiler.Progress) -> int:
    """Compiles each prefix of the series in `out`, files that differ from the base only; returns how many.

    Raises KpatchError with the compiler's text and the patch that does not compile.
    """
    tree = out / "src"
    shutil.rmtree(tree, ignore_errors=True)
    worktree.import_base(tree, up, sources)
    own = [file for module in up.modules for file in sorted(module.own.rglob("*.java"))]
    names = series.read_series(paths.PATCHES)
    for name in names:
        text = (paths.PATCHES / name).read_text()
        worktree.apply_patch(tree, series.parse(name, text), text)
        chosen = needed(_added(tree), own)
        try:
            compiler.compile_tree(tree, out / "classes", up, complete=False, progress=say, own=chosen)
        except KpatchError as e:
            raise KpatchError(
                f"the series does not compile up to {name}",
                str(e),
                "Move what it needs of later patches to it, or it behind them",
            ) from e
        say(f"{name}: compiles, with {len(chosen)} of {len(own)} own classes")
    return len(names)


def needed(text: str, own: Iterable[Path]) -> frozenset[Path]:
    """The own classes that a text names, and those that they name in turn. A class is known by its name alone."""
    files = {file.stem: file for file in own}
    found: set[str] = set()
    ahead = files.keys() & _WORD.findall(text)
    while ahead:
        found |= ahead
        ahead = {word for name in ahead for word in files.keys() & _WORD.findall(_code(files[name]))} - found
    return frozenset(files[name] for name in found)


def _code(file: Path) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)


def _added(tree: Path) -> str:
    """Lines that the patches of a tree have added."""
    diff = git(tree, "diff", "-U0", worktree.BASE)
    return "\n".join(line for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++"))
