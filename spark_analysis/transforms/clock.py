"""Times of records by their clocks, and the traces of a clock that went back or was set."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

# Of a group of records: how many were answered before they were sent, and the least and the most that the wall clock
# was ahead of the monotonic clock in their due times (ns).
CLOCK_OBSERVED = ("early", "from_ns", "until_ns")


def early() -> Column:
    """True for a record that was answered before it was sent."""
    return (F.col("done_ns") > 0) & (F.col("done_ns") < F.col("sent_ns"))


def shift() -> Column:
    """Wall clock minus monotonic clock in the due time (ns): constant until the clock is set."""
    return F.col("due_ns") - F.col("due_mono_ns")


def clock_observed() -> list[Column]:
    """CLOCK_OBSERVED of records with columns early and shift."""
    observed = (F.count(F.when(F.col("early"), 1)), F.min("shift"), F.max("shift"))
    return [column.alias(name) for column, name in zip(observed, CLOCK_OBSERVED, strict=True)]


def odd_times(acks: DataFrame) -> DataFrame:
    """CLOCK_OBSERVED of each producer."""
    times = acks.select("producer", early().alias("early"), shift().alias("shift"))
    return times.groupBy("producer").agg(*clock_observed())


def mono(name: str) -> Column:
    """A time of a record on the monotonic clock (ns). A client reads the wall clock once: its times differ by the same
    number from those of its monotonic clock.
    """
    return F.col(name) - F.col("due_ns") + F.col("due_mono_ns")


def on_the_clock_of_the_run(acks: DataFrame, ahead_ns: int, producers: Collection[str]) -> DataFrame:
    """Records of these producers with times as the run's own events have them: by the monotonic clock, and ``ahead_ns``
    by which the wall clock was ahead of it when the run began. A time of 0 stays 0.
    """
    mine = F.col("producer").isin(list(producers))
    moved = {
        name: F.when(mine & (F.col(name) > 0), mono(name) + F.lit(ahead_ns)).otherwise(F.col(name))
        for name in ("due_ns", "sent_ns", "done_ns")
    }
    return acks.select(*(moved[name].alias(name) if name in moved else F.col(name) for name in acks.columns))
