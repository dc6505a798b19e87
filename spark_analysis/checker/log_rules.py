"""Rules on the logs of replicas: each log by itself, and against the others."""

from __future__ import annotations

import numpy as np

from spark_analysis.checker.bucket_log import BucketLog
from spark_analysis.checker.columns import Rows, before, groups
from spark_analysis.checker.facts import Facts
from spark_analysis.checker.findings import Findings
from spark_analysis.checker.scatter import Key


def divergent(log: BucketLog, key: Key, base: int, found: Findings) -> None:
    """Offsets that not every replica has, or has with the same bytes and epoch."""
    if not log.expected:
        return
    found.exposure["divergent-replicas"] += int(log.present.sum()) if len(log.expected) > 1 else 0
    wanted = len(log.expected)
    right = np.array([node in log.expected for node in log.nodes], bool)
    order, begins = groups(log.odd["offset"], log.odd["node"])
    holders = log.odd.only(order[begins])
    have = np.bincount(holders["offset"][right[holders["node"]]], minlength=log.width)
    spots = log.spots
    copies = np.bincount(spots["offset"], spots["copies"], log.width).astype(np.int64)
    contents = np.bincount(spots["offset"], 2 - spots["same"], log.width).astype(np.int64)
    others = (copies == wanted) & (have != wanted)
    at = np.flatnonzero((copies > 0) & ((copies < wanted) | others | (contents > 1)))
    seqs = np.full(log.width, -1, np.int64)
    np.maximum.at(seqs, spots["offset"], spots["seq"])
    found.add(
        "divergent-replicas",
        key.topic,
        key.partition,
        base + at,
        lambda i: f"{contents[at[i]]} contents, {copies[at[i]]} of {wanted} copies",
        producers=lambda i: max(log.producers.all[code] for code in spots["producer"][spots["offset"] == at[i]]),
        seqs=seqs[at],
    )


def each_log(log: BucketLog, key: Key, base: int, highest: dict[str, int], found: Findings) -> None:
    """The rules on the log of one replica; `highest` are the epochs of each node's log before this bucket."""
    for node, rows in log.nodes.items():
        clashing(node, rows, key, base, found)
        gaps(node, rows, key, base, found)
        epochs(node, rows, key, base, highest.get(node, -1), found)


def clashing(node: str, rows: Rows, key: Key, base: int, found: Findings) -> None:
    """Two records of one offset in one replica."""
    found.exposure["offset-clash"] += rows.size
    again = rows["offset"][1:][np.diff(rows["offset"]) == 0]
    found.add("offset-clash", key.topic, key.partition, base + again, lambda _: f"again on {node}")


def gaps(node: str, rows: Rows, key: Key, base: int, found: Findings) -> None:
    """Offsets that a replica lacks between two that it has in this bucket."""
    found.exposure["offset-gap"] += rows.size
    at = np.flatnonzero(np.diff(rows["offset"]) > 1)
    after = base + rows["offset"][at + 1]
    found.add(
        "offset-gap",
        key.topic,
        key.partition,
        base + rows["offset"][at],
        lambda i: f"{node} has nothing up to offset {after[i]}",
    )


def epochs(node: str, rows: Rows, key: Key, base: int, highest: int, found: Findings) -> None:
    """A smaller leader epoch behind a larger one."""
    found.exposure["epoch-went-back"] += rows.size
    top = before(rows["leader_epoch"], highest)
    back = np.flatnonzero(rows["leader_epoch"] < top)
    bad = rows.only(back)
    found.add(
        "epoch-went-back",
        key.topic,
        key.partition,
        base + bad["offset"],
        lambda i: f"epoch {bad['leader_epoch'][i]} behind {top[back[i]]} on {node}",
        producers=lambda i: rows.names["producer"][bad["producer"][i]],
        seqs=bad["seq"],
    )


def unknown_epochs(log: BucketLog, key: Key, base: int, facts: Facts, found: Findings) -> None:
    """Records of an epoch in which nobody led, as far as the metadata log goes."""
    known = facts.epochs.get((key.topic, key.partition))
    if known is None:
        return
    found.exposure["unknown-epoch"] += int(log.present.sum())
    agreed = np.flatnonzero(log.present & ~log.differs)
    names = ("leader_epoch", "producer", "seq")
    columns = {name: np.r_[log.by_offset[name][agreed], log.spots[name]] for name in names}
    columns["offset"] = np.r_[agreed, log.spots["offset"]]
    stray = Rows(len(columns["offset"]), columns, {}).only(~np.isin(columns["leader_epoch"], known))
    order, begins = groups(*(stray[name] for name in ("offset", *names)))
    stray = stray.only(order[begins])
    found.add(
        "unknown-epoch",
        key.topic,
        key.partition,
        base + stray["offset"],
        lambda i: f"epoch {stray['leader_epoch'][i]}",
        producers=lambda i: log.producers.all[stray["producer"][i]],
        seqs=stray["seq"],
    )
