"""The page of a report from the counts beside it, without its run folders and without Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spark_analysis.input import kept_counts, programs
from spark_analysis.locations import Location, remove
from spark_analysis.report import document
from spark_analysis.report.files import plain, write_page


def recompute(folder: Location, out: Location, report: Callable[[str], None]) -> Location:
    """Writes the page into ``out`` and returns its path. Raises AnalysisError for counts that cannot be read."""
    kept = kept_counts.read(folder)
    made = built(kept, report)
    out.mkdir(parents=True, exist_ok=True)
    if (out / kept_counts.FOLDER).resolve() != kept.folder.resolve():
        remove(out / "tables")  # of another report
    kept_counts.copy(kept, out / kept_counts.FOLDER)
    return write_page(made, out, report)


def built(kept: kept_counts.Kept, report: Callable[[str], None]) -> dict[str, Any]:
    """The document of the page."""
    if kept.program["digest"] != programs.digest():
        report(f"the counts were written by other programs (Rackspan {kept.program['version']}): figures may differ")
    parts = []
    for run in kept.runs():
        raw = document.of_files(run.facts, run.tables)
        report(f"computing {raw.id}")
        parts.append(plain(document.part(raw).data))
    return plain(document.assembled(parts, kept.made))
