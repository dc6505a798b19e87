"""The extent to which a run was observed: an observer that ended early has nothing of what came then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spark_analysis.checker.bucket import Summary
from spark_analysis.checker.facts import Place

Observed = Mapping[str, Mapping[Place, int]]  # what was observed -> the offset that it came to, by place
_LAG = 100  # records, or a tenth of the log, that an observer may have been behind at its end


def observed_to(buckets: Mapping[Place, Sequence[Summary]], watermarks: Iterable[Mapping[str, Any]]) -> Observed:
    """The offset behind the last record that consumers received, and the highest watermark, of each place."""
    received = {
        place: max((walk.to_offset + 1 for one in of_place for walk in one.walks.values()), default=0)
        for place, of_place in buckets.items()
    }
    marks: dict[Place, int] = {}
    for row in watermarks:
        place = (row["topic"], row["partition"])
        marks[place] = max(marks.get(place, 0), row["high_watermark"])
    return {"records received": {place: end for place, end in received.items() if end}, "high watermarks": marks}


def ended_early(observed: Observed, places: Iterable[Place], ends: Mapping[Place, int]) -> list[str]:
    """Lists what ends before the logs of these places do; only of topics that were observed at all."""
    found = []
    for what, reached in observed.items():
        topics = {topic for topic, _ in reached}
        for place in sorted(place for place in places if place[0] in topics):
            last, end = reached.get(place, 0), ends.get(place, 0)
            if end - last > max(_LAG, end // 10):
                found.append(f"{place[0]}-{place[1]}: the {what} end at offset {last}, the log at {end}")
    return found
