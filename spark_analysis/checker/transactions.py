"""Rules on transactions: what a read_committed consumer reads at the end, against how each transaction ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from spark_analysis.checker.columns import Array
from spark_analysis.checker.findings import Findings

COMMITTED, ABORTED = "COMMITTED", "ABORTED"  # the commit, or the abort, was acknowledged; any other end is not known
RULES = ("committed-not-read", "aborted-read", "split-transaction")
Reads = Mapping[tuple[str, str], dict[str, Array]]  # by topic and producer: seq in order, partition and offset of each


def evaluate(transactions: Sequence[Mapping[str, Any]], reads: Reads, lossy: Collection[str]) -> Findings:
    """Compares each transaction with what was read of it: all of a committed one, nothing of an aborted one, and of
    one whose end is not known all or nothing.

    `transactions` have topic, producer, first, last (sequences) and outcome; those of a topic and producer that are not
    in `reads` are not compared. `lossy`: producers of whose acknowledged records an election may take some, before they
    are committed as well.
    """
    found = Findings()
    for (topic, producer), table in reads.items():
        for one in transactions:
            if (one["topic"], one["producer"]) == (topic, producer):
                _compare(one, table, producer in lossy, found)
    return found


def _compare(one: Mapping[str, Any], table: Mapping[str, Array], may_lack: bool, found: Findings) -> None:
    first, last, outcome = int(one["first"]), int(one["last"]), str(one["outcome"])
    begin, end = np.searchsorted(table["seq"], [first, last + 1])
    here = {name: column[begin:end] for name, column in table.items()}
    read = np.unique(here["seq"])
    size = last - first + 1
    name = f"the transaction of records {first} to {last}"
    found.exposure["split-transaction"] += 1
    if 0 < len(read) < size:
        _add(found, "split-transaction", one, here, 1, f"{len(read)} of {size} are read of {name}", may_lack)
    if outcome == COMMITTED:
        found.exposure["committed-not-read"] += size
        missing = np.setdiff1d(np.arange(first, last + 1), read)
        nowhere = {"seq": missing, "partition": np.full(len(missing), -1), "offset": np.full(len(missing), -1)}
        _add(found, "committed-not-read", one, nowhere, len(missing), f"{name} was committed", may_lack)
    elif outcome == ABORTED:
        found.exposure["aborted-read"] += size
        _add(found, "aborted-read", one, here, len(here["seq"]), f"{name} was aborted", False)


def _add(
    found: Findings,
    kind: str,
    one: Mapping[str, Any],
    rows: Mapping[str, Array],
    number: int,
    detail: str,
    allowed: bool,
) -> None:
    found.add(
        kind,
        one["topic"],
        rows["partition"][:number],
        rows["offset"][:number],
        lambda _: detail,
        producers=lambda _: one["producer"],
        seqs=rows["seq"][:number],
        allowed=np.full(number, allowed),
    )
