"""The counts of a report's runs as small compressed files beside its page, from which the page is computed again.

A folder for each run: `facts.json.gz` and a Parquet file for each table. `counts.json` names the runs in order, the
digest of every file, the version of this layout and the programs that wrote it, and what the page says of how it was
made; its own digest is the last of its entries.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_analysis.atomic_files import folder_aside
from spark_analysis.errors import ENVIRONMENT, FAILED, USAGE, AnalysisError
from spark_analysis.input import programs
from spark_analysis.locations import Location, copy_files, files, parquet

FOLDER, INDEX = "counts", "counts.json"
VERSION = 1
_FACTS = "facts.json.gz"
_VALUE = "value"  # a column of numbers that are as a rule without a fraction


class Counts(Protocol):
    """The raw data of one run: tables of counts by name, and facts as JSON has them."""

    @property
    def facts(self) -> Mapping[str, Any]: ...

    @property
    def tables(self) -> Mapping[str, pa.Table]: ...


@dataclass(frozen=True)
class RunCounts:
    """The same, read from files."""

    facts: Mapping[str, Any]
    tables: Mapping[str, pa.Table]


@dataclass(frozen=True)
class Kept:
    """The counts of a report, read and checked: ``made`` is what its page says of how it was made."""

    folder: Location
    program: Mapping[str, str]
    made: Mapping[str, Any]
    folders: Sequence[Location]

    def runs(self) -> Iterator[RunCounts]:
        """The counts of each run, in the order of the page."""
        return map(read_run, self.folders)


def write_run(folder: Location, counts: Counts) -> None:
    """Writes the files of one run into a new folder."""
    folder.mkdir()
    text = json.dumps(counts.facts, default=str, separators=(",", ":"))
    (folder / _FACTS).write_bytes(gzip.compress(text.encode(), mtime=0))
    for name, table in counts.tables.items():
        table = _integers(table)
        numbers = {f.name: "DELTA_BINARY_PACKED" for f in table.schema if pa.types.is_integer(f.type)}
        texts = [f.name for f in table.schema if pa.types.is_string(f.type)]
        options = {"compression": "zstd", "compression_level": 19, "write_statistics": False}
        with (folder / f"{name}.parquet").open("wb") as file:
            pq.write_table(table, file, use_dictionary=texts, column_encoding=numbers, **options)


def read_run(folder: Location) -> RunCounts:
    """The counts of one run."""
    facts = json.loads(gzip.decompress((folder / _FACTS).read_bytes()))
    return RunCounts(facts, {file.stem: _floats(pq.read_table(**parquet(file))) for file in files(folder, "*.parquet")})


def write(out: Location, runs: Mapping[str, Location], made: Mapping[str, Any]) -> None:
    """Writes the folder of a report in the place of an older one; ``runs`` has the files of each run."""
    index: dict[str, Any] = {
        "version": VERSION,
        "program": {"version": programs.version(), "digest": programs.digest()},
        "made": made,
        "runs": {run: folder_of(run) for run in runs},
        "files": {},
    }
    with folder_aside(out) as aside:
        for run, folder in runs.items():
            copy_files(folder, aside / folder_of(run))
            for file in files(aside / folder_of(run)):
                index["files"][f"{folder_of(run)}/{file.name}"] = _digest(file.read_bytes())
        index["digest"] = _digest(_canonical(index))
        (aside / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def copy(kept: Kept, out: Location) -> None:
    """Copies the folder of a report into the place of another one; nothing is done where it is the same."""
    if out.resolve() == kept.folder.resolve():
        return
    with folder_aside(out) as aside:
        copy_files(kept.folder, aside)


def folder_of(run: str) -> str:
    """The name of a run's folder."""
    return re.sub(r"[^\w.-]", "_", run)


def read(folder: Location) -> Kept:
    """Reads and checks the counts of a report: the folder of its page, or the folder of counts in it. Raises
    AnalysisError for files that are missing, cut short, changed, or of a newer version.
    """
    folder = folder / FOLDER if (folder / FOLDER / INDEX).exists() else folder
    index = _index(folder)
    if index["version"] > VERSION:
        raise AnalysisError(
            f"the counts in {folder} are of a newer version",
            observed=f"version {index['version']}, this program reads up to {VERSION}",
            do=f"use Rackspan {index.get('program', {}).get('version', 'of a later release')}, which wrote them",
            code=ENVIRONMENT,
        )
    written = index.pop("digest", None)
    if written != _digest(_canonical(index)):
        raise _damaged(folder / INDEX, f"its digest is not the one that it was written with ({str(written)[:12]})")
    for name, digest in index["files"].items():
        _check(folder / name, digest)
    return Kept(folder, index["program"], index["made"], [folder / name for name in index["runs"].values()])


def _index(folder: Location) -> dict[str, Any]:
    try:
        text = (folder / INDEX).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise AnalysisError(
            f"{folder} has no counts of a report",
            observed=f"{INDEX}: {_why(e)}",
            do=f"give the folder of a report.html that has a folder {FOLDER}, or that folder",
            code=USAGE,
        ) from e
    try:
        index = json.loads(text)
    except ValueError as e:
        raise _damaged(folder / INDEX, f"{len(text)} characters; {e}") from e
    if not isinstance(index, dict) or not isinstance(index.get("version"), int):
        raise _damaged(folder / INDEX, "no version in it")
    return index


def _why(e: Exception) -> str:
    return str((isinstance(e, OSError) and e.strerror) or e).splitlines()[0]


def _check(file: Location, digest: str) -> None:
    try:
        data = file.read_bytes()
    except OSError as e:
        raise _damaged(file, _why(e)) from e
    if _digest(data) != digest:
        found = f"{len(data)} bytes with the digest {_digest(data)[:12]}, written with {digest[:12]}"
        raise _damaged(file, found)


def _damaged(file: Location, observed: str) -> AnalysisError:
    return AnalysisError(
        f"{file} is not what was written",
        observed=observed,
        do="copy the counts again from where the page came from, or make the report again from its run folders",
        code=FAILED,
    )


def _integers(table: pa.Table) -> pa.Table:
    """The table with values as integers where none has a fraction: sorted, they take a few bits each."""
    if _VALUE not in table.column_names:
        return table
    values = table[_VALUE]
    if pc.all(pc.equal(pc.floor(values), values)).as_py() is False:
        return table
    return table.set_column(table.column_names.index(_VALUE), _VALUE, values.cast(pa.int64()))


def _floats(table: pa.Table) -> pa.Table:
    """The table with values as they are counted, with fractions."""
    if _VALUE not in table.column_names:
        return table
    return table.set_column(table.column_names.index(_VALUE), _VALUE, table[_VALUE].cast(pa.float64()))


def _canonical(index: Mapping[str, Any]) -> bytes:
    return json.dumps(index, sort_keys=True, separators=(",", ":")).encode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
