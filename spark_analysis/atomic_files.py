"""Files that are written in full or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_aside(path: Path, text: str) -> None:
    """Writes a file beside its place and renames it, so that a reader finds the old text or the new one."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
