"""Error lines in what nodes wrote, against a list of those that are expected, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ERROR = re.compile(r"^\[[^]]*\] (ERROR|FATAL) ")


@dataclass(frozen=True)
class Allowed:
    """Error lines that mean nothing here. `pattern` is searched in the line."""

    pattern: str
    reason: str


def error_lines(text: str, allowed: Sequence[Allowed] = ()) -> list[str]:
    """Lines of level ERROR or FATAL that no entry allows."""
    patterns = [re.compile(a.pattern) for a in allowed]
    return [line for line in text.splitlines() if _ERROR.match(line) and not any(p.search(line) for p in patterns)]


def summary(found: Iterable[tuple[str, str]], most: int = 5) -> str:
    """Lines by node in words, cut to the first few."""
    lines = [f"{node}: {line[:300]}" for node, line in found]
    more = f" (and {len(lines) - most} more)" if len(lines) > most else ""
    return " | ".join(lines[:most]) + more
