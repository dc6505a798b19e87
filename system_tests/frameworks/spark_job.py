"""A Spark application as users write them: streaming queries with Spark's own Kafka source and sink.

    python -m system_tests.frameworks.spark_job --bootstrap B --jars FOLDER --source T --patient T --hasty T --folder F

Two queries copy the source. `patient` has time for a rack outage; `hasty` gives records up within seconds, and is
started again from its checkpoint, as a scheduler does. Each time, the number of lines that a batch query finds in the
patient one's target is printed. SIGTERM ends it all.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

PATIENT = {"kafka.delivery.timeout.ms": "120000"}
HASTY = {"kafka.delivery.timeout.ms": "3000", "kafka.request.timeout.ms": "2000", "kafka.linger.ms": "0"}
SMALL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
}


def main() -> None:
    """Copies until SIGTERM."""
    signal.signal(signal.SIGTERM, _end)
    options = _options()
    builder = SparkSession.builder.master("local[2]").appName("copy")
    for name, value in SMALL.items():
        builder = builder.config(name, value)
    jars = ",".join(str(jar) for jar in sorted(options.jars.glob("*.jar")))
    spark = builder.config("spark.jars", jars).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        patient = _copy(spark, options, "patient", PATIENT)
        hasty = _copy(spark, options, "hasty", HASTY)
        print("copying", flush=True)
        while True:
            time.sleep(0.5)
            if failure := patient.exception():
                raise failure
            if hasty.exception():
                print(f"hasty: {_cause(hasty)}; readable: {_lines(spark, options, options.patient)}", flush=True)
                hasty = _copy(spark, options, "hasty", HASTY)
    finally:
        spark.stop()


def _copy(spark: SparkSession, options: Any, name: str, settings: dict[str, str]) -> StreamingQuery:
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", options.bootstrap)
    lines = source.option("subscribe", options.source).option("startingOffsets", "earliest").load()
    sink = lines.select("value").writeStream.format("kafka").option("kafka.bootstrap.servers", options.bootstrap)
    target = sink.options(**settings).option("topic", getattr(options, name))
    checkpoint = target.option("checkpointLocation", str(options.folder / name))
    return checkpoint.trigger(processingTime="500 milliseconds").start()


def _lines(spark: SparkSession, options: Any, topic: str) -> int:
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", options.bootstrap)
    return source.option("subscribe", topic).load().count()


def _cause(query: StreamingQuery) -> str:
    """The line of the error that names what the producer reported."""
    text = str(query.exception())
    named = [line for line in text.splitlines() if "org.apache.kafka.common.errors." in line]
    return (named or text.splitlines())[0].strip()


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def _options() -> Any:
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "source", "patient", "hasty"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("jars", "folder"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
