"""A part of the document, and the tables behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Section:
    """A part of the document and the tables behind it."""

    data: dict[str, Any]
    tables: Mapping[str, DataFrame | pa.Table]


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    """A small result as plain dicts."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def collected(frame: DataFrame, *order: str) -> pa.Table:
    """A small result as a table in memory, sorted: rows of the document and a file of it cost one computation."""
    table: pa.Table = frame.toArrow()
    return table.sort_by([(name, "ascending") for name in order]) if order else table


def summed(table: pa.Table, column: str, *by: str) -> pa.Table:
    """Sums of a column of a table in memory, by others and sorted by them."""
    sums = table.group_by(list(by)).aggregate([(column, "sum")]).rename_columns([*by, column])
    return sums.sort_by([(name, "ascending") for name in by])
