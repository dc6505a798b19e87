"""Times of one run that cannot be: what a clock that went back, or was set, leaves behind."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

# Of a group of records: how many were answered before they were sent, and the least and the most that the wall clock
# was ahead of the monotonic clock in their due times (ns).
CLOCK_OBSERVED = ("early", "from_ns", "until_ns")


def early() -> Column:
    """True if a record was answered before it was sent."""
    return (F.col("done_ns") > 0) & (F.col("done_ns") < F.col("sent_ns"))


def shift() -> Column:
    """The lead of the wall clock over the monotonic clock in the due time (ns): the same until somebody sets it."""
    return F.col("due_ns") - F.col("due_mono_ns")


def clock_observed() -> list[Column]:
    """CLOCK_OBSERVED of records with columns early and shift."""
    observed = (F.count(F.when(F.col("early"), 1)), F.min("shift"), F.max("shift"))
    return [column.alias(name) for column, name in zip(observed, CLOCK_OBSERVED, strict=True)]


def odd_times(acks: DataFrame) -> DataFrame:
    """CLOCK_OBSERVED of each producer."""
    reported = acks.select("producer", early().alias("early"), shift().alias("shift"))
    return reported.groupBy("producer").agg(*clock_observed())
