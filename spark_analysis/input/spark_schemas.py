"""Schemas of the run folder's tables as Spark has them."""

from __future__ import annotations

from pyspark.sql.types import DataType, DoubleType, IntegerType, LongType, StringType, StructField, StructType

from spark_analysis.input import schemas

_TYPES: dict[str, DataType] = {
    "string": StringType(),
    "int32": IntegerType(),
    "int64": LongType(),
    "double": DoubleType(),
}


def table(name: str) -> StructType:
    """Spark schema of one table."""
    fields = schemas.contract()["tables"][name]["fields"]
    return StructType([StructField(f["name"], _TYPES[f["type"]], True) for f in fields])
