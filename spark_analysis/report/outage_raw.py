"""The raw data of an outage's part of the page: counts over time, answers, silences, and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from spark_analysis.report import timeline

OUTAGE = "outage"
_TABLES = ("fates", "over_time")
_FACTS = ("manifest", "events", "first_ns", "last_ns", "silences", "answers", "racks", "durability")


@dataclass(frozen=True)
class Period:
    """The time that is drawn, its windows and marks, and the width of its buckets."""

    origin_ns: int
    end_ns: int
    line: timeline.Timeline
    bucket_s: float

    @property
    def bucket_ns(self) -> int:
        """The width of a bucket."""
        return int(self.bucket_s * 1e9)


def period(events: list[dict[str, Any]], first_ns: int, last_ns: int) -> Period:
    """The period of a run whose records were due or answered between these times."""
    # Notes (a producer started, a topic read back) lie outside of the time that is drawn.
    times = [e["t_ns"] for e in events if e["kind"] != "note"]
    origin, end = min([first_ns, *times]), max([last_ns, *times])
    return Period(origin, end, timeline.build(events, origin, end), timeline.bucket_seconds((end - origin) / 1e9))


@dataclass(frozen=True)
class OutageRaw:
    """Of one run. fates, over_time, silences and answers are the tables and rows of transforms/outage.py, racks the
    least and greatest number of racks in the in-sync sets by second, durability is that part of the document.
    """

    manifest: dict[str, Any]
    events: list[dict[str, Any]]
    first_ns: int
    last_ns: int
    fates: pa.Table
    over_time: pa.Table
    silences: list[dict[str, Any]]
    answers: list[dict[str, Any]]
    racks: list[dict[str, Any]]
    durability: dict[str, Any]

    @property
    def id(self) -> str:
        """The run id."""
        return str(self.manifest["run_id"])

    @cached_property
    def period(self) -> Period:
        """The time that is drawn."""
        return period(self.events, self.first_ns, self.last_ns)

    @property
    def facts(self) -> dict[str, Any]:
        """All but the tables, as JSON has it."""
        return {"page": OUTAGE, **{name: getattr(self, name) for name in _FACTS}}

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables by name."""
        return {name: getattr(self, name) for name in _TABLES}


def of_files(facts: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> OutageRaw:
    """The same from what files keep of it."""
    return OutageRaw(**{name: facts[name] for name in _FACTS}, **{name: tables[name] for name in _TABLES})
