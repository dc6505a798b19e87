"""The end of a benchmark that prints a table: its raw values in a file, and its exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.common.atomic_files import write_aside
from harness.common.errors import RackspanError


def print_table(measure: Callable[[], tuple[Any, str]], file: Path | None) -> int:
    """Measures and prints; `measure` returns values for JSON, which `file` gets, and the table. Returns the exit code,
    as those of the command.
    """
    try:
        values, table = measure()
    except RackspanError as e:
        print(e, file=sys.stderr)
        return int(e.code)
    if file:
        write_aside(file, json.dumps(values, indent=1) + "\n")
    print(table)
    return 0
