"""The check that the times of a run's records can be trusted."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from spark_analysis.input.folders import check_moved, clock_went_back
from spark_analysis.locations import Location
from spark_analysis.report import words


def evaluate(
    path: Location, observed: Iterable[Mapping[str, Any]], clock: Mapping[str, Any], own: Container[str]
) -> None:
    """Raises AnalysisError if a clock went back or was set while the run continued. ``observed`` has the columns of
    transforms/clock.py for each producer; ``clock`` is the manifest's, read when the run began; ``own`` are the
    producers with the run's own monotonic clock.
    """
    ahead_ns = clock["epoch_ns"] - clock["mono_ns"]
    for row in sorted(observed, key=lambda row: str(row["producer"])):
        if row["early"]:
            early = f"{words.records(row['early'])} of producer {row['producer']} answered before they were sent"
            raise clock_went_back(path, early)
        known = [row["from_ns"], row["until_ns"]] + ([ahead_ns] if row["producer"] in own else [])
        check_moved(path, max(known) - min(known), f"until the due times of producer {row['producer']}")
