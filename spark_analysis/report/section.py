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
