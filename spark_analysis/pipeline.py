"""Parts of the document from run folders: what the cache holds is reused, what is new is computed, run by run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from spark_analysis.atomic_files import folder_aside
from spark_analysis.errors import FAILED, AnalysisError
from spark_analysis.input import kept_counts
from spark_analysis.input.cache import Cache, Entry
from spark_analysis.input.folders import Folder, read_folders
from spark_analysis.locations import Location, copy_file
from spark_analysis.progress import timed
from spark_analysis.report import document
from spark_analysis.report.files import plain, write_page
from spark_analysis.report.run_part import part_of
from spark_analysis.session import session


@dataclass(frozen=True)
class Done:
    """Entries in the order requested, the folders that were skipped, and the work that was done."""

    entries: list[Entry]
    skipped: list[AnalysisError]
    work: dict[str, Any]


class _Spark:
    """A session that starts when it is first used: its start takes longer than all else when nothing is new."""

    def __init__(
        self, master: str | None, input_bytes: int, places: Sequence[Location], report: Callable[[str], None]
    ) -> None:
        self._requested, self._places, self._report_step = (master, input_bytes), places, report

    @cached_property
    def session(self) -> SparkSession:
        self._report_step("starting Spark")
        return session(*self._requested, places=self._places)


def analyse(paths: Sequence[Location], cache: Cache, master: str | None, report: Callable[[str], None]) -> Done:
    """Reads, reuses or computes every folder; one that does not fit is named and skipped."""
    folders, skipped = read_folders(paths)
    for error in skipped:
        report(f"skipped: {error}")
    known = {folder.id: cache.find(folder) for folder in folders}
    fresh = [folder for folder in folders if known[folder.id] is None]
    spark = _Spark(master, sum(folder.bytes for folder in fresh), [*paths, cache.root], report)
    entries, computed = [], []
    for folder in folders:
        entry = known[folder.id]
        if entry is None:
            started = spark.session
            try:
                entry = _compute(started, folder, cache, report)
            except AnalysisError as e:
                skipped.append(e)
                report(f"skipped: {e}")
                continue
            computed.append(folder)
        entries.append(entry)
    work = {
        "computed": [folder.id for folder in computed],
        "reused": [folder.id for folder in folders if known[folder.id] is not None],
        "acks_read": sum(folder.rows["acks"] for folder in computed),
    }
    return Done(entries, skipped, work)


def _compute(spark: SparkSession, folder: Folder, cache: Cache, report: Callable[[str], None]) -> Entry:
    report(f"computing {folder.id}")
    part = part_of(spark, folder)
    try:
        return cache.keep(folder, plain(part.data), part.tables, part.raw)
    finally:
        spark.catalog.clearCache()


def write_tables(entries: Sequence[Entry], out: Location) -> int:
    """All tables in one folder each, a file a run; returns how many tables there are."""
    with folder_aside(out) as aside:
        for number, entry in enumerate(entries):
            for name, folder in entry.tables.items():
                (aside / name).mkdir(exist_ok=True)
                for file in folder.glob("*.parquet"):
                    copy_file(file, aside / name / f"run-{number}-{file.name}")
    return len(list(out.iterdir()))


def write_report(
    paths: Sequence[Location], out: Location, master: str | None = None, cache: Location | None = None
) -> Location:
    """Writes the report of the runs into ``out`` and returns the page's path; a bad folder is named and skipped."""
    report = timed()
    done = analyse(paths, Cache(cache or out / "cache", report), master, report)
    if not done.entries:
        raise AnalysisError(
            "no report made",
            observed=f"none of {len(paths)} folder{'' if len(paths) == 1 else 's'} could be read",
            do="see the lines above; give folders made by a run",
            code=max((e.code for e in done.skipped), default=FAILED),
        )
    made = document.made(done.skipped, done.work)
    out.mkdir(parents=True, exist_ok=True)
    number = write_tables(done.entries, out / "tables")
    runs = {entry.part["run_id"]: entry.counts for entry in done.entries}
    kept_counts.write(out / kept_counts.FOLDER, runs, made)
    report(f"{number} tables; computed {len(done.work['computed'])} runs, reused {len(done.work['reused'])}")
    return write_page(plain(document.assembled([entry.part for entry in done.entries], made)), out, report)
