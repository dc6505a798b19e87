"""Small results of Spark as values in memory."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    """A small result as plain dicts."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def collected(frame: DataFrame, *order: str) -> pa.Table:
    """A small result as a table in memory, sorted: rows of the document and a file of it cost one computation."""
    table: pa.Table = frame.toArrow()
    return table.sort_by([(name, "ascending") for name in order]) if order else table
