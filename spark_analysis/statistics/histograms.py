"""Histograms of a run folder in place of its records: the same counts as an aggregation of the records gives.

A value is the middle of its bucket, which is at most a thousandth of it wide.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_analysis.locations import Location, files, parquet
from spark_analysis.statistics.counts import RECORDS, UNANSWERED, VALUE

TABLE = "histograms"
_PLACE = ["block", "part"]


def of(path: Location) -> pa.Table | None:
    """The histograms of a run folder; None where it has none, and so keeps records."""
    found = files(path / TABLE, "*.parquet")
    return pa.concat_tables([pq.read_table(**parquet(file)) for file in found]) if found else None


def latencies(table: pa.Table) -> pa.Table:
    """block, part, outcome, cause, value (µs; null: not acknowledged), records, max_us, as transforms/benchmark.py."""
    rows = _measure(table, "latency")
    acked = pc.equal(rows["result"], "OK")
    outcome = pc.if_else(pc.equal(rows["result"], ""), UNANSWERED, rows["result"])
    highest = pc.add(rows["low_us"], pc.subtract(rows["width_us"], 1))
    columns = {
        **{name: rows[name] for name in _PLACE},
        "outcome": outcome,
        "cause": rows["cause"],
        VALUE: pc.if_else(acked, _middle(rows), pa.scalar(None, pa.float64())),
        RECORDS: rows["records"],
        "max_us": pc.if_else(acked, highest, pa.scalar(None, pa.int64())),
    }
    return pa.table(columns)


def end_to_end(table: pa.Table) -> pa.Table:
    """block, part, value (µs from the due time until a consumer received it), records."""
    return _values(table, "end_to_end")


def send_lag(table: pa.Table) -> pa.Table:
    """block, part, value (µs from the due time until the send), records: all records that were sent."""
    return _values(table, "send_lag")


def _values(table: pa.Table, measure: str) -> pa.Table:
    rows = _measure(table, measure)
    return pa.table({**{name: rows[name] for name in _PLACE}, VALUE: _middle(rows), RECORDS: rows["records"]})


def _measure(table: pa.Table, name: str) -> pa.Table:
    return table.filter(pc.field("measure") == name)


def _middle(rows: pa.Table) -> pa.ChunkedArray:
    return pc.add(rows["low_us"].cast(pa.float64()), pc.divide(pc.subtract(rows["width_us"], 1).cast(pa.float64()), 2))
