"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[object], rows: Iterable[Sequence[object]], *, right: Iterable[int] = ()) -> str:
    """A table, without a line break at its end; columns of the indexes in `right` are aligned to the right."""
    rulers = ["---:" if column in set(right) else "---" for column in range(len(head))]
    return "\n".join(line(cells) for cells in (head, rulers, *rows))


def line(cells: Iterable[object]) -> str:
    """One line of a table: a bar within a cell is escaped, a line break becomes a blank."""
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
