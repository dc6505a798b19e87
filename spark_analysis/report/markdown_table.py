"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def row(cells: Iterable[object]) -> str:
    """One line of a table."""
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def head(names: Sequence[object]) -> str:
    """The names of the columns and the line below them."""
    return f"{row(names)}\n{row(['---'] * len(names))}"


def table(names: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table without an end of line behind it."""
    return "\n".join([head(names), *map(row, rows)])
