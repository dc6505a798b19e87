"""Numbers of records by value, from one aggregation: everything else about latency is arithmetic on them.

A value is a microsecond, or where there are too many the middle of a bucket of 2**-8 of its size
(transforms/benchmark.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Values = NDArray[np.float64]
VALUE, RECORDS = "value", "records"
UNANSWERED = "UNANSWERED"  # outcome of a record that had no answer
# Quantiles are per thousand: 999.9 is p99.99.
QUANTILES = (500, 900, 990, 999, 999.9)
# A quantile is printed only when at least so many samples lie beyond it (half-width of about 20 % of the tail).
MIN_EXCEEDANCES = 100
# Values in buckets are kept to 1 part in 2**8: the middle of a bucket is within 0.2 % of what it stands for.
BITS = 8


def carried(n: int, per_thousand: float) -> bool:
    """True if a sample of n has enough records beyond a quantile. Integers: a quantile has at most one decimal."""
    return n * round((1000 - per_thousand) * 10) >= MIN_EXCEEDANCES * 10_000


def quantile(values: Values, times: Values, per_thousand: Sequence[float]) -> list[float]:
    """Quantiles (linear between ranks, as numpy's default) of sorted values, each with its number of records; infinite
    where a rank beside it is.
    """
    upto = np.cumsum(times)
    rank = np.asarray(per_thousand, dtype=np.float64) / 1000 * (upto[-1] - 1)
    below, above = (values[np.searchsorted(upto, edge, side="right")] for edge in (np.floor(rank), np.ceil(rank)))
    part = rank - np.floor(rank)
    with np.errstate(invalid="ignore"):
        return [float(v) for v in np.where((below == above) | (part == 0), below, below + (above - below) * part)]


def is_answered(value: float | None) -> bool:
    """True for a value that a sample carries and that is the time of an answer."""
    return value is not None and math.isfinite(value)


def with_unanswered(counts: pa.Table) -> pa.Table:
    """Counts by outcome, of which those without an acknowledgement are infinitely late: value and max_us."""
    acked = pc.equal(counts["outcome"], "OK")
    for name in (VALUE, "max_us"):
        late = pc.if_else(acked, counts[name].cast(pa.float64()), pa.scalar(math.inf, pa.float64()))
        counts = counts.set_column(counts.column_names.index(name), name, late)
    return counts


def with_missing(received: pa.Table, sent: pa.Table, by: Sequence[str]) -> pa.Table:
    """Counts of records received, and with an infinite value those that were sent and that nobody received."""
    due = sent.group_by(list(by)).aggregate([(RECORDS, "sum")])
    known = received.group_by(list(by)).aggregate([(RECORDS, "sum")]).rename_columns([*by, "known"])
    both = due.join(known, list(by), join_type="left outer")
    missing = pc.subtract(both[f"{RECORDS}_sum"], pc.fill_null(both["known"], 0))
    rows = both.select(list(by)).append_column(VALUE, pa.array([math.inf] * both.num_rows, pa.float64()))
    rows = rows.append_column(RECORDS, missing).filter(pc.greater(missing, 0))
    return pa.concat_tables([received, rows.select(received.column_names).cast(received.schema)])


def groups(counts: pa.Table, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], Values, Values]]:
    """Each group with its sorted values and the number of records of each."""
    if not counts.num_rows:
        return
    merged = counts.group_by([*by, VALUE]).aggregate([(RECORDS, "sum")])
    merged = merged.sort_by([(name, "ascending") for name in (*by, VALUE)])
    sizes = merged.group_by(list(by), use_threads=False).aggregate([(VALUE, "count")])
    values = merged[VALUE].to_numpy().astype(np.float64)
    times = merged[f"{RECORDS}_sum"].to_numpy().astype(np.float64)
    begin = 0
    for key in sizes.to_pylist():
        end = begin + key.pop(f"{VALUE}_count")
        yield key, values[begin:end], times[begin:end]
        begin = end


def bucketed(counts: pa.Table) -> pa.Table:
    """The same counts with values in buckets, as transforms/benchmark.py makes them."""
    values = counts[VALUE].to_numpy().astype(np.float64)
    known = np.where(np.isfinite(values), values, 0)
    width = 2.0 ** np.maximum(np.floor(np.log2(np.maximum(known, 1))) - BITS, 0)
    middle = np.where(np.isfinite(values), np.floor(known / width) * width + (width - 1) / 2, values)
    return counts.set_column(counts.column_names.index(VALUE), VALUE, pa.array(middle))


def quantiles(counts: pa.Table, by: Sequence[str], per_thousand: Sequence[float] = QUANTILES) -> list[dict[str, Any]]:
    """One row per group and quantile; ``value_us`` is None where the sample does not carry it."""
    out = []
    for key, values, times in groups(counts, by):
        n = int(times.sum())
        for q, found in zip(per_thousand, quantile(values, times, per_thousand), strict=True):
            out.append({**key, "per_thousand": q, "n": n, "value_us": found if carried(n, q) else None})
    return out


def send_lags(lags: pa.Table) -> list[dict[str, Any]]:
    """block, part, records, lag_p99_us: the send lag of the load client over all records; and lag_grew_us: by how much
    its median grew from the first quarter of the part to the last (a load client that falls behind), None where
    quarters were not counted.
    """
    place = ["block", "part"]
    medians: dict[tuple[Any, ...], dict[int, float]] = {}
    if "quarter" in lags.column_names:
        for key, values, times in groups(lags, [*place, "quarter"]):
            quarters = medians.setdefault((key["block"], key["part"]), {})
            quarters[key["quarter"]] = quantile(values, times, [500])[0]
    out = []
    for key, values, times in groups(lags, place):
        of_quarter = medians.get((key["block"], key["part"]), {})
        grew = of_quarter[3] - of_quarter[0] if {0, 3} <= set(of_quarter) else None
        p99 = quantile(values, times, [990])[0]
        out.append({**key, "records": int(times.sum()), "lag_p99_us": p99, "lag_grew_us": grew})
    return out
