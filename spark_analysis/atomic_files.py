"""Files and folders that are written in full or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from spark_analysis.locations import Location, remove


def write_aside(path: Location, text: str) -> None:
    """Writes a file beside its place and renames it, so that a reader finds the old text or the new one; an object of
    an object store is replaced at once by itself.
    """
    if not isinstance(path, Path):
        path.write_text(text)
        return
    aside = _beside(path)
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)


@contextlib.contextmanager
def folder_aside(path: Location) -> Iterator[Location]:
    """A new folder beside a place, which takes the place at the end of the block; an older one there is removed.

    A remote folder is written in its place, as nothing can be renamed there: what must be complete has an index that is
    written last.
    """
    aside = new_aside(path)
    yield aside
    take_place(path)


def new_aside(path: Location) -> Location:
    """An empty folder beside a place, for `take_place`; the place itself where it is remote."""
    aside = _beside(path) if isinstance(path, Path) else path
    remove(aside)
    aside.mkdir(parents=True)
    return aside


def take_place(path: Location) -> None:
    """Puts the folder that `new_aside` made into its place. An older one there is renamed before it is removed."""
    if not isinstance(path, Path):
        return
    if path.exists():
        old = path.with_name(f".{path.name}.{os.getpid()}.old")
        path.replace(old)
        remove(old)
    _beside(path).replace(path)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")
