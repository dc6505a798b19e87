"""Error lines in what nodes wrote, against a list of those that are expected, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ERROR = re.compile(r"^\[[^]]*\] (ERROR|FATAL) ")


@dataclass(frozen=True)
class Allowed:
    """Error lines that mean nothing here. `pattern` is searched in the line and the line of its exception, if any."""

    pattern: str
    reason: str


def error_lines(text: str, allowed: Sequence[Allowed] = ()) -> list[str]:
    """Lines of level ERROR or FATAL that no entry allows, each with the line of its exception, if any."""
    patterns = [re.compile(a.pattern) for a in allowed]
    lines = text.splitlines()
    found = [
        _with_exception(line, after) for line, after in zip(lines, [*lines[1:], ""], strict=False) if _ERROR.match(line)
    ]
    return [line.replace("\n", ": ") for line in found if not any(p.search(line) for p in patterns)]


def _with_exception(line: str, after: str) -> str:
    return line if not after or after.startswith("[") else f"{line}\n{after}"


def summary(found: Iterable[tuple[str, str]], most: int = 5) -> str:
    """Lines by node in words, cut to the first few."""
    lines = [f"{node}: {line[:300]}" for node, line in found]
    more = f" (and {len(lines) - most} more)" if len(lines) > most else ""
    return " | ".join(lines[:most]) + more
