"""A part of the document, and the tables behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Section:
    """A part of the document and the tables behind it."""

    data: dict[str, Any]
    tables: Mapping[str, pa.Table]


def summed(table: pa.Table, column: str, *by: str) -> pa.Table:
    """Sums of a column of a table in memory, by others and sorted by them."""
    sums = table.group_by(list(by)).aggregate([(column, "sum")]).rename_columns([*by, column])
    return sums.sort_by([(name, "ascending") for name in by])
