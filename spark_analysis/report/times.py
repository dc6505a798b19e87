"""Whether the times of a run's records can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spark_analysis.folders import CLOCK_TOLERANCE_NS, clock_went_back
from spark_analysis.report import words


def judge(path: Path, seen: Iterable[Mapping[str, Any]]) -> None:
    """Raises AnalysisError if a clock went back while the run went on. ``seen`` is what transforms/clock.py gives of
    groups of records, each with its producer.
    """
    early: dict[str, int] = {}
    edges: dict[str, tuple[int, int]] = {}
    for row in seen:
        name, (low, high) = row["producer"], (row["from_ns"], row["until_ns"])
        early[name] = early.get(name, 0) + row["early"]
        known = edges.get(name, (low, high))
        edges[name] = (min(low, known[0]), max(high, known[1]))
    for name in sorted(edges):
        if early[name]:
            told = f"{words.records(early[name])} of producer {name} answered before they were sent"
            raise clock_went_back(path, told)
        moved_ns = edges[name][1] - edges[name][0]
        if moved_ns > CLOCK_TOLERANCE_NS:
            moved = f"wall clock and monotonic clock moved by {moved_ns / 1e9:.3f} s against each other"
            raise clock_went_back(path, f"{moved} in the due times of producer {name}")
