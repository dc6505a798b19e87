"""Derived tables of run folders, kept so that a new folder does not make the others be computed again.

One entry a run: `part.json` (its part of the document), `counts/` (kept_counts.py), `tables/NAME/*.parquet`, and
`entry.json`, which names the key and the digest of every file. An entry is made aside and renamed; a remote one is
made in its place, `entry.json` as the last. A damaged one is made again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import DataFrame

from spark_analysis.atomic_files import new_aside, take_place
from spark_analysis.input import programs, schemas
from spark_analysis.input.folders import Folder
from spark_analysis.input.kept_counts import FOLDER, Counts, folder_of, write_run
from spark_analysis.locations import Location, below, files, sha256

_FILES = 8  # of a table at most: a task each, and few to open


def code_version() -> str:
    """A digest of the programs that derive the tables, and of the libraries below them."""
    return hashlib.sha256(f"{pyspark.__version__} {schemas.version()} {programs.digest()}".encode()).hexdigest()


@dataclass(frozen=True)
class Entry:
    """The results of one run folder: its part of the document, the folder of each table, and that of its counts."""

    part: dict[str, Any]
    tables: dict[str, Location]
    counts: Location


class Cache:
    """Entries below one folder, one a run."""

    def __init__(self, root: Location, report: Callable[[str], None], version: str | None = None) -> None:
        self.root, self._report_step, self._version = root, report, version or code_version()

    def key(self, folder: Folder) -> str:
        """A digest that is equal only for equal contents of the folder, derived by equal programs."""
        return hashlib.sha256(f"{folder.id} {self._version} {folder.digest()}".encode()).hexdigest()

    def find(self, folder: Folder) -> Entry | None:
        """The entry of a folder; None if there is none, or if it is damaged, which is index."""
        where, key = self._place(folder), self.key(folder)
        if not where.exists():
            return None
        try:
            index = json.loads((where / "entry.json").read_text(encoding="utf-8"))
            if index["key"] != key:
                return None
            wrong = [name for name, digest in index["files"].items() if sha256(where / name) != digest]
            if not wrong:
                return _entry(where)
            observed = f"{wrong[0]} is not what was written"
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
            observed = f"{type(e).__name__}: {e}"
        self._report_step(f"what was kept of {folder.id} is damaged ({observed}): computed again")
        return None

    def keep(
        self, folder: Folder, part: dict[str, Any], tables: Mapping[str, DataFrame | pa.Table], counts: Counts
    ) -> Entry:
        """Writes an entry, in the place of an older one of the same run."""
        where = self._place(folder)
        aside = new_aside(where)
        (aside / "tables").mkdir()
        (aside / "part.json").write_text(json.dumps(part), encoding="utf-8")
        write_run(aside / FOLDER, counts)
        for name, frame in tables.items():
            _write(frame, aside / "tables" / name)
        digests = {below(f, aside): sha256(f) for f in _kept(aside)}
        index = {"key": self.key(folder), "run": folder.id, "files": digests}
        (aside / "entry.json").write_text(json.dumps(index, indent=1), encoding="utf-8")
        with _alone(self.root):
            take_place(where)
            return _entry(where)

    def _place(self, folder: Folder) -> Location:
        return self.root / folder_of(folder.id)


@contextlib.contextmanager
def _alone(folder: Location) -> Iterator[None]:
    """One report at a time: another one may be about to put the same entry in place. A remote folder has no lock."""
    if not isinstance(folder, Path):
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(table: DataFrame | pa.Table, where: Location) -> None:
    if isinstance(table, DataFrame):
        table.coalesce(_FILES).write.parquet(str(where))
    else:
        where.mkdir()
        with (where / "part-0.parquet").open("wb") as file:
            pq.write_table(table, file)


def _kept(where: Location) -> list[Location]:
    return [where / "part.json", *files(where / FOLDER), *files(where / "tables", "*/*.parquet")]


def _entry(where: Location) -> Entry:
    part = json.loads((where / "part.json").read_text(encoding="utf-8"))
    return Entry(part, {folder.name: folder for folder in files(where / "tables")}, where / FOLDER)
