"""Run folders as files: manifest, events and the footers of their tables, read and checked without Spark."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark_analysis.errors import ENVIRONMENT, AnalysisError
from spark_analysis.input import schemas
from spark_analysis.input.older_versions import upgraded
from spark_analysis.locations import Location, below, files, fingerprint, in_object_store, parquet

NEEDED = ("acks", "reads", "metrics", "fetches")
# Older run folders lack these tables; one without them is complete.
OPTIONAL = ("histograms", "polls")
# Threads of one process may write their events in another order than they read the clock.
CLOCK_TOLERANCE_NS = 1_000_000_000


@dataclass(frozen=True)
class Folder:
    """One checked run folder; ``rows`` has the number of rows of each table that the report reads."""

    path: Location
    manifest: dict[str, Any]
    events: list[dict[str, Any]]
    rows: dict[str, int]

    @property
    def id(self) -> str:
        """The run id."""
        return str(self.manifest["run_id"])

    @property
    def bytes(self) -> int:
        """Size of the tables that the report reads."""
        return sum(file.stat().st_size for name in self.rows for file in parts(self.path, name))

    def digest(self) -> str:
        """A digest of everything in the folder that the report reads: equal only for equal contents."""
        layout, digest = schemas.contract()["layout"], hashlib.sha256()
        notes = [self.path / layout["manifest"], self.path / layout["events"]]
        for file in [*notes, *(file for name in self.rows for file in parts(self.path, name))]:
            digest.update(f"{below(file, self.path)} {fingerprint(file)}\n".encode())
        return digest.hexdigest()


def read_folder(path: Location) -> Folder:
    """Reads and checks one run folder; raises AnalysisError that names it."""
    layout = schemas.contract()["layout"]
    manifest = schemas.check_manifest(path, _json(path / layout["manifest"]))
    events = schemas.check_events(path, _lines(path / layout["events"]))
    events = upgraded(events, manifest["schema_version"])
    _check_clock(path, manifest, events)
    tables = [*NEEDED, *(name for name in OPTIONAL if (path / name).is_dir())]
    return Folder(path, manifest, events, {name: check_table(path, name) for name in tables})


def read_folders(paths: Sequence[Location]) -> tuple[list[Folder], list[AnalysisError]]:
    """All folders that can be read, and one error for each that cannot. A run given twice counts once; another run of
    the same id is an error.
    """
    found: dict[str, Folder] = {}
    errors = []
    for path in paths:
        try:
            folder = read_folder(path)
        except AnalysisError as e:
            errors.append(e)
            continue
        first = found.setdefault(folder.id, folder)
        if first.path != path and first.digest() != folder.digest():
            errors.append(_same_id(first, folder))
    return list(found.values()), errors


def _same_id(first: Folder, second: Folder) -> AnalysisError:
    """The error of two runs of one id."""
    return AnalysisError(
        f"{second.path} is another run with the id of {first.path}",
        observed=f"both have the run id {first.id}, and their contents differ",
        do="name one of them, or report on each by itself",
    )


def parts(path: Location, name: str) -> list[Location]:
    """The Parquet files of one table."""
    return files(path / name, "*.parquet")


def check_table(path: Location, name: str) -> int:
    """Number of rows of a table. Raises AnalysisError for a missing folder, a file cut short, or other columns.

    An object store has no empty folders: there a table without rows is missing.
    """
    if not (in_object_store(path) or (path / name).is_dir()):
        raise AnalysisError(
            f"{path} is not a complete run folder",
            observed=f"no folder {name}",
            do="give a folder made by a run, not one of its parts",
            code=ENVIRONMENT,
        )
    rows = 0
    for file in parts(path, name):
        try:
            footer = pq.ParquetFile(**parquet(file))
        except (OSError, pa.ArrowException) as e:
            raise AnalysisError(
                f"{file} is not a complete Parquet file",
                observed=f"{file.stat().st_size} bytes; {str(e).splitlines()[0]}",
                do="copy the run folder again, or make the run again: it may have been cut short",
                code=ENVIRONMENT,
            ) from e
        schemas.check_table(path, name, footer.schema_arrow)
        _check_nulls(file, footer.metadata)
        rows += footer.metadata.num_rows
    return rows


@contextmanager
def reading(file: Location | str) -> Iterator[None]:
    """Raises AnalysisError (exit code 4) where a file, or one of a run folder, cannot be read."""
    try:
        yield
    except (OSError, pa.ArrowException) as e:
        raise AnalysisError(
            f"{file} cannot be read",
            observed=(str(e).splitlines() or [type(e).__name__])[0],
            do="copy the run folder again, or make the run again: it may be damaged",
            code=ENVIRONMENT,
        ) from e


def _check_nulls(file: Location, footer: pq.FileMetaData) -> None:
    """Raises AnalysisError if the footer says that a value is missing: no column may lack any."""
    nulls: Counter[str] = Counter()
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if (found := column.statistics) is not None and found.null_count:
                nulls[column.path_in_schema] += found.null_count
    if nulls:
        raise AnalysisError(
            f"{file} lacks values",
            observed=", ".join(f"{number} null in {name}" for name, number in nulls.items()),
            do="copy the run folder again, or make the run again: no column may have a null",
            code=ENVIRONMENT,
        )


def check_moved(path: Location, moved_ns: int, when: str) -> None:
    """Raises AnalysisError if the wall clock was set: it moved so far against the monotonic clock."""
    if abs(moved_ns) > CLOCK_TOLERANCE_NS:
        moved = f"wall clock and monotonic clock moved by {abs(moved_ns) / 1e9:.3f} s against each other"
        raise clock_went_back(path, f"{moved} {when}")


def _check_clock(path: Location, manifest: dict[str, Any], events: Sequence[dict[str, Any]]) -> None:
    """Raises AnalysisError if the run ended before it began, the wall clock was set meanwhile, or an event is earlier
    than one written before it.
    """
    if 0 < manifest["ended_ns"] < manifest["started_ns"]:
        raise clock_went_back(path, f"it began at {manifest['started_ns']} ns and ended at {manifest['ended_ns']} ns")
    clock = manifest["clock"]
    if "ended_mono_ns" in clock:
        took_ns = clock["ended_mono_ns"] - clock["mono_ns"]
        check_moved(path, manifest["ended_ns"] - clock["epoch_ns"] - took_ns, "from the begin of the run to its end")
    for number, earlier, later in _steps(events):
        if later - earlier < -CLOCK_TOLERANCE_NS:
            back = (earlier - later) / 1e9
            raise clock_went_back(path, f"line {number} of its events is {back:.3f} s earlier than a line before it")


def _steps(events: Sequence[dict[str, Any]]) -> Iterator[tuple[int, int, int]]:
    """Line number, latest time so far, time; on both clocks."""
    for clock in ("t_ns", "mono_ns"):
        latest = events[0][clock] if events else 0
        for number, event in enumerate(events, 1):
            yield number, latest, event[clock]
            latest = max(latest, event[clock])


def clock_went_back(path: Location, observed: str) -> AnalysisError:
    """The error of a run whose clock went back or was set: none of its times can be trusted."""
    return AnalysisError(
        f"a clock of {path} went back or was set",
        observed=observed,
        do="make the run again on a machine whose clock is steady while it runs (no suspend, no restored snapshot)",
        code=ENVIRONMENT,
    )


def _json(path: Location) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise _not_a_run(path, e) from e


def _lines(path: Location) -> list[Any]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as e:
        raise _not_a_run(path, e) from e
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            # Only the last line can be cut short, by a crash of the writer; whatever follows a broken line is unknown.
            break
    return rows


def _not_a_run(file: Location, e: Exception) -> AnalysisError:
    return AnalysisError(
        f"{file.parent} is not a run folder",
        observed=f"{file.name}: {e}",
        do="give a folder made by a run",
        code=ENVIRONMENT,
    )
