"""Files that are written completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_aside(path: Path, text: str, mode: int = 0o666) -> None:
    """Writes a file aside, flushes it, and renames it. `mode`: who may read it, less what the user's mask takes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with open(part, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, mode)) as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    part.replace(path)
