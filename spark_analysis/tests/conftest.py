"""One small Spark session for all tests, and what several files of tests look at."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_analysis.session import session
from spark_analysis.tests.generated_bench import measured


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    subprocess.run([sys.executable, "-m", "spark_analysis.make_class_archive"], check=True)  # unless there is one
    made = session("local[2]")
    yield made
    made.stop()


@pytest.fixture(scope="session")
def equal_racks(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A benchmark's part of the document: six rounds, nothing broken, any two racks 2 ms apart."""
    return measured(spark, tmp_path_factory.mktemp("equal-racks") / "run", rtt_ms={"b": 2.0, "c": 2.0})
