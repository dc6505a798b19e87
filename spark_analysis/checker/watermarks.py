"""Rules on the high watermarks that were observed during the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spark_analysis.checker.facts import Facts, Place
from spark_analysis.checker.findings import Findings

Begins = dict[Place, dict[int, tuple[int, int]]]  # begin and end of each leader epoch in the final log


def went_back(rows: Sequence[dict[str, Any]], begins: Begins) -> Findings:
    """A high watermark below one that was observed before, reported by a leader of the same or a later epoch.

    An older leader that does not know its successor yet may report less; that is no fault. A new leader must report
    none until it is beyond the start of its epoch (KIP-207), but Apache Kafka reads it twice and may report the first
    value: allowed.
    """
    found = Findings()
    best: dict[tuple[str, Place], tuple[int, int]] = {}
    for row in sorted(rows, key=lambda row: row["number"]):
        place = (row["topic"], row["partition"])
        at = (row["observer"], place)
        mark, epoch = row["high_watermark"], row["leader_epoch"]
        if at in best:
            found.exposure["watermark-went-back"] += 1
            highest, of = best[at]
            if mark < highest and epoch >= of:
                begin = min((b for e, (b, _) in begins.get(place, {}).items() if e >= epoch), default=-1)
                text = f"{highest} before, now {mark} at epoch {epoch}"
                _add(found, "watermark-went-back", place, mark, text, epoch > of and mark < begin)
        best[at] = max(best.get(at, (mark, epoch)), (mark, epoch))
    return found


def below(rows: Sequence[dict[str, Any]], begins: Begins, facts: Facts) -> Findings:
    """Offsets below a high watermark that the log has from a later leader than the one that reported it, or lacks.

    What is below a high watermark is committed: every later leader has it. An answer without an epoch says nothing.
    """
    found = Findings()
    best: dict[tuple[Place, int], int] = {}
    for row in rows:
        place, epoch = (row["topic"], row["partition"]), row["leader_epoch"]
        if epoch >= 0 and facts.is_complete(place):
            found.exposure["lost-below-watermark"] += 1
            best[place, epoch] = max(best.get((place, epoch), 0), row["high_watermark"])
    for (place, epoch), mark in best.items():
        log = begins.get(place, {})
        end = max((end for _, end in log.values()), default=0)
        gone = min([end, *(begin for later, (begin, _) in log.items() if later > epoch)])
        if gone < mark:
            text = f"the leader of epoch {epoch} had reported a high watermark of {mark}"
            _add(found, "lost-below-watermark", place, gone, text, False)
    return found


def _add(found: Findings, kind: str, place: Place, offset: int, text: str, allowed: bool) -> None:
    found.add(kind, *place, np.array([offset]), lambda _: text, allowed=np.array([allowed]))
