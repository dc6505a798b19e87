"""Files and folders that are written in full or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


def write_aside(path: Path, text: str) -> None:
    """Writes a file beside its place and renames it, so that a reader finds the old text or the new one."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)


@contextlib.contextmanager
def folder_aside(path: Path) -> Iterator[Path]:
    """A new folder beside a place, which takes the place at the end of the block; an older one there is removed."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    yield aside
    shutil.rmtree(path, ignore_errors=True)
    aside.replace(path)
