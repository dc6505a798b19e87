"""The version of these programs, and a digest of them."""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from pathlib import Path

# Folders whose programs do not change a number of a report.
_OUTSIDE = ("tests", "checker", "benchmarks")
_HOME = Path(__file__).parents[1]


@cache
def version() -> str:
    """The version of the project."""
    return str(tomllib.loads((_HOME.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


@cache
def digest() -> str:
    """A digest of the programs that derive the numbers of a report."""
    found = hashlib.sha256()
    for file in sorted(_HOME.rglob("*.py")):
        where = file.relative_to(_HOME)
        if where.parts[0] not in _OUTSIDE:
            found.update(f"{where} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()
