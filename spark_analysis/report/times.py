"""The check that the times of a run's records can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spark_analysis.input.folders import CLOCK_TOLERANCE_NS, clock_went_back
from spark_analysis.report import words


def evaluate(path: Path, observed: Iterable[Mapping[str, Any]]) -> None:
    """Raises AnalysisError if a clock went back while the run continued. ``observed`` has the columns of
    transforms/clock.py for each producer.
    """
    for row in sorted(observed, key=lambda row: str(row["producer"])):
        if row["early"]:
            early = f"{words.records(row['early'])} of producer {row['producer']} answered before they were sent"
            raise clock_went_back(path, early)
        moved_ns = row["until_ns"] - row["from_ns"]
        if moved_ns > CLOCK_TOLERANCE_NS:
            moved = f"wall clock and monotonic clock moved by {moved_ns / 1e9:.3f} s against each other"
            raise clock_went_back(path, f"{moved} in the due times of producer {row['producer']}")
