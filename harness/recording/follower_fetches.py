"""Follower fetches that raised a leader's view of their log end: broker debug lines to rows of the run folder."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa

from harness.run_folder.run_folder import arrow_schema

# The first line of a fetch is written before the leader counts it, the second one after it has sent the answers that
# waited for it, which would make them earlier than the ideal.
LOGGERS = ("kafka.cluster.Partition", "kafka.server.ReplicaManager=Fetching log segment for partition")
_READ = re.compile(
    r"^(\d+) \[([^]]+)\] \[ReplicaManager broker=\d+\] Fetching log segment for partition [^ :]+:(\S+)-(\d+), "
    r"offset (\d+), "
)
_COUNTED = re.compile(
    r"^\d+ \[([^]]+)\] \[Partition (\S+)-(\d+) broker=(\d+)\] Recorded replica (\d+) log end offset \(LEO\) position "
    r"(-?\d+) "
)


def parse(lines: Iterable[str], topics: Iterable[str]) -> pa.Table:
    """Rows of the `fetches` table for these topics: when the leader read a fetch that raised its view of a follower's
    log end. A fetch that brings no news is skipped, and one whose first line is missing.
    """
    wanted = set(topics)
    known: dict[tuple[str, str, str], str] = {}
    # Between both lines of a fetch its thread may read for others that it completes: by offset, then.
    read: dict[tuple[str, str, str], dict[str, str]] = {}
    columns: list[list[object]] = [[] for _ in range(6)]
    for line in lines:
        if (begun := _READ.match(line)) is not None:
            nanos, thread, topic, partition, offset = begun.groups()
            if topic in wanted:
                read.setdefault((thread, topic, partition), {})[offset] = nanos
            continue
        match = _COUNTED.match(line)
        if match is None or match[2] not in wanted:
            continue
        thread, topic, partition, leader, follower, leo = match.groups()
        nanos = read.pop((thread, topic, partition), {}).get(leo)
        who = (topic, partition, follower)
        if known.get(who) == leo or nanos is None:
            continue
        known[who] = leo
        row = (int(nanos), topic, int(partition), int(leader), int(follower), int(leo))
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    schema = arrow_schema("fetches")
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
