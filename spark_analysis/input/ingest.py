"""DataFrames of run folders: folders that folders.py has checked are read by Spark here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, IntegerType, LongType, StringType, StructField, StructType

from spark_analysis.input import spark_schemas
from spark_analysis.input.blocks import finished_blocks
from spark_analysis.input.folders import NEEDED, Folder, check_table, parts, read_folder
from spark_analysis.locations import Location

BLOCKS = StructType(
    [
        StructField("run", StringType()),
        StructField("producer", StringType()),
        StructField("mode", StringType()),
        StructField("role", StringType()),
        StructField("block", IntegerType()),
        StructField("pair", IntegerType()),
        StructField("begin_mono_ns", LongType()),
        StructField("end_mono_ns", LongType()),
        StructField("cpu_busy", DoubleType()),
        StructField("part", StringType()),
        StructField("steal", DoubleType()),
        StructField("cpu_own", DoubleType()),
        StructField("isr", IntegerType()),
        StructField("rtt_off", DoubleType()),
        StructField("stalls", IntegerType()),
        StructField("invalid", ArrayType(StringType())),
        StructField("saturated", StringType()),
        StructField("brokers_cpu_s", DoubleType()),
        StructField("acked", LongType()),
    ]
)


@dataclass(frozen=True)
class Run:
    """One checked run folder; its tables as DataFrames with a column run in front."""

    folder: Folder
    acks: DataFrame
    reads: DataFrame
    metrics: DataFrame
    fetches: DataFrame

    @property
    def id(self) -> str:
        """The run id; also the value of column run."""
        return self.folder.id

    @property
    def manifest(self) -> dict[str, Any]:
        """The run's manifest."""
        return self.folder.manifest

    @property
    def events(self) -> list[dict[str, Any]]:
        """The run's events in the order written."""
        return self.folder.events


def open_run(spark: SparkSession, folder: Folder) -> Run:
    """The run of a folder that was checked."""
    run = F.lit(folder.id).alias("run")
    return Run(folder, *(_frame(spark, folder.path, name).select(run, "*") for name in NEEDED))


def read_run(spark: SparkSession, path: Location) -> Run:
    """Reads and checks one run folder; raises AnalysisError that names the folder."""
    return open_run(spark, read_folder(path))


def blocks(spark: SparkSession, runs: list[Run]) -> DataFrame:
    """One row per finished block phase: the producer whose records, due in this window, belong to the mode. The window
    is on the monotonic clock of that producer.

    ``part`` names a part of a block, such as before or during a fault; empty where there are none.
    """
    return spark.createDataFrame([row for run in runs for row in finished_blocks(run.id, run.events)], BLOCKS)


def read_table(spark: SparkSession, path: Location, name: str) -> DataFrame:
    """One table of a run folder, empty if it has no files. Raises AnalysisError if it does not fit the contract."""
    check_table(path, name)
    return _frame(spark, path, name)


def _frame(spark: SparkSession, path: Location, name: str) -> DataFrame:
    """The table as Spark reads it. The schema is given, not inferred: the footers were checked before."""
    want = spark_schemas.table(name)
    files = [str(file) for file in parts(path, name)]
    return spark.read.schema(want).parquet(*files) if files else spark.createDataFrame([], want)
