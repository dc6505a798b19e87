"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_aside(path: Path, text: str) -> None:
    """Writes a file aside, flushes it, and renames it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("w", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    part.replace(path)
