"""One small Spark session for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_analysis.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    made = session("local[2]")
    yield made
    made.stop()
