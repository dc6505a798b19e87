"""Times of one run that cannot be: what a clock that went back, or was set, leaves behind."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def odd_times(acks: DataFrame) -> DataFrame:
    """Per run and producer: records answered before they were sent, and by how much (ns) wall and monotonic clock of
    the due times moved against each other.
    """
    shift = F.col("due_ns") - F.col("due_mono_ns")
    early = (F.col("done_ns") > 0) & (F.col("done_ns") < F.col("sent_ns"))
    return (
        acks.groupBy("run", "producer")
        .agg(F.count(F.when(early, 1)).alias("early"), (F.max(shift) - F.min(shift)).alias("moved_ns"))
        .select("run", "producer", "early", "moved_ns")
    )
