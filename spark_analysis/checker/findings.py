"""The anomalies found: how many of each kind, and the first of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spark_analysis.checker.columns import Array

SHOWN = 20  # anomalies of one kind that are shown with their full history


@dataclass
class Findings:
    """`counts` by topic, kind and whether a client's settings permit it; `shown` has the first that are not allowed.

    `exposure` says how much each rule could evaluate, `tolerated` how much it skipped because times are not exact.
    """

    counts: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    shown: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    exposure: Counter[str] = field(default_factory=Counter)
    tolerated: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        kind: str,
        topic: str,
        partitions: Array | int,
        offsets: Array,
        detail: Callable[[int], str],
        *,
        producers: Callable[[int], str] | None = None,
        seqs: Array | None = None,
        allowed: Array | None = None,
    ) -> None:
        """Adds a row for each offset; `detail` and `producers` give the text of a row, and are called for few."""
        total = len(offsets)
        if not total:
            return
        wrong = np.ones(total, bool) if allowed is None else ~allowed
        self.counts[topic, kind, False] += int(wrong.sum())
        self.counts[topic, kind, True] += total - int(wrong.sum())
        keys = [np.zeros(total) if seqs is None else seqs, offsets, np.broadcast_to(partitions, total)]
        order = np.lexsort(keys)
        for at in order[wrong[order]][:SHOWN].tolist():
            row = {
                "anomaly": kind,
                "topic": topic,
                "partition": int(keys[2][at]),
                "offset": int(offsets[at]),
                "producer": producers(at) if producers else None,
                "seq": int(seqs[at]) if producers and seqs is not None else None,
                "detail": detail(at),
            }
            self.shown.setdefault(kind, []).append(row)
        self._cut(kind)

    def merge(self, others: Iterable[Findings]) -> None:
        """Takes in those of other parts."""
        for other in others:
            self.counts.update(other.counts)
            self.exposure.update(other.exposure)
            self.tolerated.update(other.tolerated)
            for kind, found in other.shown.items():
                self.shown.setdefault(kind, []).extend(found)
        for kind in self.shown:
            self._cut(kind)

    def drop(self, topic: str, kinds: Collection[str]) -> None:
        """Takes out what was found of these kinds in a topic."""
        for kind in kinds:
            self.counts.pop((topic, kind, False), None)
            self.counts.pop((topic, kind, True), None)
            if kind in self.shown:
                self.shown[kind] = [row for row in self.shown[kind] if row["topic"] != topic]

    def by_kind(self, allowed: bool) -> dict[str, int]:
        """Numbers of all topics together."""
        sums: Counter[str] = Counter()
        for (_, kind, permitted), number in self.counts.items():
            if permitted == allowed and number:
                sums[kind] += number
        return dict(sums)

    def _cut(self, kind: str) -> None:
        if kind in self.shown:
            self.shown[kind] = sorted(self.shown[kind], key=_place)[:SHOWN]


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return (
        row["topic"],
        row["partition"],
        row["offset"],
        row["producer"] or "",
        -1 if row["seq"] is None else row["seq"],
    )
