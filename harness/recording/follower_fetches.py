"""Follower fetches that raised a leader's view of their log end: broker debug lines to rows of the run folder."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa

from harness.run_folder.run_folder import arrow_schema

LOGGER = "kafka.cluster.Partition"
_LINE = re.compile(
    r"^(\d+) \[Partition (\S+)-(\d+) broker=(\d+)\] Recorded replica (\d+) log end offset \(LEO\) position (-?\d+) "
)


def parse(lines: Iterable[str], topics: Iterable[str]) -> pa.Table:
    """Rows of the `fetches` table for these topics; a fetch that brings no news is skipped."""
    wanted = set(topics)
    known: dict[tuple[str, str, str], str] = {}
    columns: list[list[object]] = [[] for _ in range(6)]
    for line in lines:
        match = _LINE.match(line)
        if match is None or match[2] not in wanted:
            continue
        nanos, topic, partition, leader, follower, leo = match.groups()
        who = (topic, partition, follower)
        if known.get(who) == leo:
            continue
        known[who] = leo
        for column, value in zip(
            columns, (int(nanos), topic, int(partition), int(leader), int(follower), int(leo)), strict=True
        ):
            column.append(value)
    schema = arrow_schema("fetches")
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
