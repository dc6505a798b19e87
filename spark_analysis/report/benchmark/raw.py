"""The raw data of a benchmark's page: counts of its records by block and value, and events. All figures follow from it.

`from_records.py` makes it of a run folder by Spark; files keep it (input/kept_counts.py), and need neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from spark_analysis.input.blocks import finished_blocks

BENCH = "bench"
# Width of the time buckets around a fault.
AROUND_BUCKET_NS = 250_000_000
_TABLES = ("latencies", "send_lags", "received", "ideal")
_FACTS = ("manifest", "events", "exact", "overwritten", "silences", "around")


@dataclass(frozen=True)
class Raw:
    """Of one run; ``events`` are those of blocks and producers.

    latencies: block, part, outcome, cause, value (µs; null: not acknowledged), records, max_us. send_lags: block, part,
    value (µs), records, and quarter where it was counted. received: block, part, value (µs from due until consumed),
    records; None where nobody consumed. ideal: block, part, measure, value (µs), records, see statistics/ideal.py;
    None without fetches. ``exact``: a value is a microsecond, else a bucket of 0.4 %.

    overwritten: lost records by producer, as far as the places of others show it. silences and around: rows of
    transforms/benchmark.py, of runs with a fault.
    """

    manifest: dict[str, Any]
    events: list[dict[str, Any]]
    exact: bool
    latencies: pa.Table
    send_lags: pa.Table
    received: pa.Table | None
    ideal: pa.Table | None
    overwritten: dict[str, int]
    silences: list[dict[str, Any]]
    around: list[dict[str, Any]]

    @property
    def id(self) -> str:
        """The run id."""
        return str(self.manifest["run_id"])

    @cached_property
    def blocks(self) -> list[dict[str, Any]]:
        """Finished parts of blocks in the order in which they ran."""
        return sorted(finished_blocks(self.id, self.events), key=lambda b: (b["block"], b["begin_mono_ns"]))

    @property
    def facts(self) -> dict[str, Any]:
        """All but the tables, as JSON has it."""
        return {"page": BENCH, **{name: getattr(self, name) for name in _FACTS}}

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables that there are, by name."""
        return {name: table for name in _TABLES if (table := getattr(self, name)) is not None}


def of_files(facts: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> Raw:
    """The same from what files keep of it."""
    values: dict[str, Any] = {name: facts[name] for name in _FACTS} | {name: tables.get(name) for name in _TABLES}
    return Raw(**values)


def kept_events(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of blocks and of producers."""
    return [e for e in events if (e["kind"], e["name"]) in (("phase", "block"), ("note", "producer"))]
