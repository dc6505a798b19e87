"""What the command prints: data on standard output, progress on standard error."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from harness.progress import Progress, Seen

out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)
err = Console(stderr=True, highlight=False, soft_wrap=True)


WRAPPED = ("ERROR", "SEEN", "WITHOUT IT")  # columns of free text; all others stay on one line


class Format(StrEnum):
    """How a listing is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class Ticks(Progress):
    """A line with a tick and seconds for each step that ended; on a terminal also a spinner that says what is waited
    for.
    """

    @contextlib.contextmanager
    def step(self, label: str) -> Iterator[Seen]:
        started = time.monotonic()
        spinner = err.status(escape(label)) if err.is_terminal else contextlib.nullcontext()
        try:
            with spinner as shown:
                yield lambda text: shown.update(f"{escape(label)}: {escape(text[:100])}") if shown else None
        except BaseException:
            err.print(f"[red]✗[/] {escape(label)} ({time.monotonic() - started:.1f} s)")
            raise
        err.print(f"[green]✓[/] {escape(label)} ({time.monotonic() - started:.1f} s)")

    def note(self, text: str) -> None:
        err.print(f"  {escape(text)}")


def data(value: Any, form: Format) -> None:
    """Prints plain data as JSON or YAML."""
    text = json.dumps(value, indent=2) if form is Format.JSON else yaml.safe_dump(value, sort_keys=False).rstrip()
    out.print(text, markup=False)


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table; None shows as a dash, and a Text with its own style."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column not in WRAPPED)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else _plain(cell) for cell in row))
    return made


def _plain(cell: object) -> str:
    return escape("-" if cell is None or cell == "" else str(cell))
