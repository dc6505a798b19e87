"""The source of records from a cluster, as far as no cluster is needed; harness/tests/test_read_back.py has one."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_analysis.errors import AnalysisError
from spark_analysis.input import kafka_source
from spark_analysis.input.kafka_source import Offsets


def test_a_cluster_that_does_not_answer_is_named(spark: SparkSession) -> None:
    with pytest.raises(AnalysisError) as caught:
        kafka_source.read_topic(spark, "127.0.0.1:1", "t", patience_s=0.2)
    assert caught.value.what == "topic t could not be read back from 127.0.0.1:1"
    assert "check the address" in caught.value.do and caught.value.observed


def test_long_partitions_are_read_in_ranges_and_empty_ones_not_at_all() -> None:
    reader = kafka_source.KafkaRecords({"bootstrap": "x", "ranges": "t 0 10 1000010\nt 1 7 7\nu 0 0 3"})
    found = reader.reader(reader.schema()).partitions()
    assert found == [Offsets("t", 0, 10, 500_010), Offsets("t", 0, 500_010, 1_000_010), Offsets("u", 0, 0, 3)]
