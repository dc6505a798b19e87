"""The Spark session: small, quiet, bound to loopback when local."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession


def session(master: str | None = None) -> SparkSession:
    """A session on ``master``, or on what spark-submit chose, or on all cores of this machine."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("spark_analysis")
    submitted = "SPARK_ENV_LOADED" in os.environ and master is None
    if not submitted:
        master = master or "local[*]"
        builder = builder.master(master)
        if master.startswith("local"):
            builder = (
                builder.config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.sql.shuffle.partitions", "4")
                .config("spark.default.parallelism", "2")
            )
    spark = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark
