"""The Spark session: small, quiet, bound to loopback when local."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import SparkSession

from spark_analysis import class_archive
from spark_analysis.errors import ENVIRONMENT, AnalysisError
from spark_analysis.locations import Location, endpoint, in_object_store

# Below this much Parquet on one machine, compiling code for a query takes longer than running it.
SMALL_BYTES = 64 << 20
# Below this much one task has its result before the shuffle that feeds a second one is through.
SINGLE_TASK_BYTES = 4 << 20
# Of Parquet, several times as much in memory: the rows that a task sorts shall fit into a small heap.
PARTITION_BYTES = 16 << 20
_LOCAL = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
# What Spark needs to read and write an object store; `gradle objectStore` makes it.
_OBJECT_STORE = Path(__file__).parents[1] / "build" / "object-store"
# Spark looks up this machine's name before it reads any setting, and a fresh machine may have a name that nobody knows.
_ADDRESSES = ("SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# Spark's classes take some 150 MB: growing up to that by and by costs full collections.
SMALL = {
    _JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def session(
    master: str | None = None, input_bytes: int = 0, java_options: str | None = None, places: Iterable[Location] = ()
) -> SparkSession:
    """A session on ``master``, on the master of spark-submit, or on all cores of this machine.

    A small local one uses the class archive, or has `java_options` instead. `places` are the folders that it reads and
    writes. Raises AnalysisError (exit code 4) if one is in an object store and the jars for that are not here; with
    spark-submit they are what was submitted.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("spark_analysis")
    submitted = "SPARK_ENV_LOADED" in os.environ and master is None
    if not submitted:
        master = master or "local[*]"
        builder = builder.master(master)
        if any(map(in_object_store, places)):
            for name, value in object_store_settings().items():
                builder = builder.config(name, value)
        if master.startswith("local"):
            for name in _ADDRESSES:
                os.environ.setdefault(name, "127.0.0.1")
            settings = _LOCAL | _tasks(input_bytes)
            if input_bytes < SMALL_BYTES:
                more = class_archive.java_options() if java_options is None else java_options
                settings |= SMALL | {_JAVA_OPTIONS: f"{SMALL[_JAVA_OPTIONS]} {more}"}
            for name, value in settings.items():
                builder = builder.config(name, value)
    spark = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _tasks(input_bytes: int) -> dict[str, str]:
    """Numbers of tasks for an input of that size."""
    least = 1 if input_bytes < SINGLE_TASK_BYTES else 2
    return {
        "spark.default.parallelism": str(least),
        "spark.sql.files.minPartitionNum": str(least),
        "spark.sql.shuffle.partitions": str(min(max(least, input_bytes // PARTITION_BYTES), 400)),
    }


def object_store_settings() -> dict[str, str]:
    """The jars, and the store that the environment names. Spark reads the keys from there by itself."""
    jars = sorted(_OBJECT_STORE.glob("*.jar"))
    if not jars:
        raise AnalysisError(
            "Spark cannot read s3a:// here",
            observed=f"no jar in {_OBJECT_STORE}",
            do="run `gradle objectStore`, or spark-submit with --packages org.apache.hadoop:hadoop-aws",
            code=ENVIRONMENT,
        )
    settings = {"spark.jars": ",".join(map(str, jars))}
    if url := endpoint():
        settings |= {"spark.hadoop.fs.s3a.endpoint": url, "spark.hadoop.fs.s3a.path.style.access": "true"}
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region
    return settings
