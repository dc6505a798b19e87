"""Makes the archive of Spark's classes where there is none: `python -m spark_analysis.make_class_archive`."""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from spark_analysis import class_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def make(archive: Path) -> None:
    """Lets a session that has done what most sessions do write the archive as its JVM ends."""
    from spark_analysis.session import session

    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making-", dir=archive.parent) as folder:
        aside = Path(folder, archive.name)
        spark = session(java_options=f"-XX:ArchiveClassesAtExit={shlex.quote(str(aside))} {class_archive.QUIET}")
        try:
            _use(spark, Path(folder, "table"))
        finally:
            gateway = spark.sparkContext._gateway
            assert gateway is not None
            spark.stop()
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait()
        for old in archive.parent.glob("spark-*.jsa"):
            old.unlink(missing_ok=True)  # of another Java or Spark; a JVM that has it mapped keeps it
        aside.replace(archive)


def _use(spark: SparkSession, parquet: Path) -> None:
    """Makes queries such as the checker and the reports make."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    spark.range(100).selectExpr("id", "id % 3 as part", "cast(id as string) as name").write.parquet(str(parquet))
    table = spark.read.parquet(str(parquet)).coalesce(1).cache()
    last = F.lag("id").over(Window.partitionBy("part").orderBy("id"))
    steps = table.withColumn("step", F.col("id") - last).where("step is not null")
    steps.groupBy("part").agg(F.count("*"), F.max("step"), F.countDistinct("name")).orderBy("part").collect()
    other = spark.createDataFrame([(1, "a")], "part long, label string")
    table.join(F.broadcast(other), "part", "left_semi").unionByName(table).distinct().collect()
    table.join(steps.withColumnRenamed("name", "other"), ["id", "part"], "left").orderBy("id").limit(5).collect()
    table.agg(F.percentile_approx("id", 0.5), F.min("name")).collect()


def main() -> int:
    """Makes the archive if there is none."""
    archive = class_archive.path()
    if not archive.exists():
        make(archive)
    return 0


if __name__ == "__main__":
    sys.exit(main())
