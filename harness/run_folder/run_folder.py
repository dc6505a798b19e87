"""The run folder: written here, read by the analysis; names and types come from schema.json alone."""

from __future__ import annotations

import json
import os
import platform
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from harness.common.atomic_files import write_aside
from harness.common.errors import RackspanError

SCHEMA_FILE = Path(__file__).with_name("schema.json")
_ARROW = {"string": pa.string(), "int32": pa.int32(), "int64": pa.int64(), "double": pa.float64()}


class RunFolderError(RackspanError):
    """A run folder cannot be written or read as requested."""


@cache
def schema_file() -> dict[str, Any]:
    """The contract, as parsed JSON."""
    data: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return data


def arrow_schema(table: str) -> pa.Schema:
    """Arrow schema of one table: acks, reads, metrics or fetches."""
    fields = schema_file()["tables"][table]["fields"]
    return pa.schema([pa.field(f["name"], _ARROW[f["type"]], nullable=False) for f in fields])


def host_facts() -> dict[str, Any]:
    """The facts that explain a number on this machine: CPUs, load, memory, kernel."""
    return {
        "cpus": os.cpu_count(),
        "load_1_5_15": list(os.getloadavg()),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "platform": platform.platform(),
        "python": platform.python_version(),
    }


class RunFolder:
    """Writes one run. As a context manager it ends the run as finished, or as failed with the exception's text."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        self.manifest = manifest
        self._lock = threading.Lock()
        self._parts: dict[str, int] = {}

    @classmethod
    def create(
        cls,
        root: Path,
        name: str,
        *,
        kind: str = "other",
        seed: int = 0,
        spec: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
        patches: Sequence[str] = (),
        plan: Mapping[str, Any] | None = None,
    ) -> Self:
        """Makes ``root/<UTC time>-<name>`` with a manifest in state running. A taken name gets -2, -3, ..."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise RunFolderError(
                "cannot name a run",
                observed=repr(name),
                do="use letters, digits, dot, dash and underscore, a letter or digit first",
            )
        epoch, mono = time.time_ns(), time.monotonic_ns()
        path = _fresh_folder(root, f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{name}")
        for table in (*schema_file()["layout"]["tables"], schema_file()["layout"]["logs"]):
            (path / table).mkdir()
        manifest: dict[str, Any] = {
            "schema_version": schema_file()["version"],
            "run_id": path.name,
            "name": name,
            "kind": kind,
            "state": "running",
            "started_ns": epoch,
            "ended_ns": 0,
            "failure": "",
            "clock": {"epoch_ns": epoch, "mono_ns": mono},
            "seed": seed,
            "plan": dict(plan or {}),
            "spec": dict(spec or {}),
            "versions": dict(versions or {}),
            "patches": list(patches),
            "host": host_facts(),
        }
        run = cls(path, manifest)
        (path / schema_file()["layout"]["events"]).touch()
        run._save_manifest()
        return run

    @property
    def logs(self) -> Path:
        """The folder for logs of the run."""
        return self.path / str(schema_file()["layout"]["logs"])

    def event(self, kind: str, name: str, state: str = "point", data: Mapping[str, Any] | None = None) -> int:
        """Appends one event now; returns its t_ns (epoch ns, from the run's one clock anchor)."""
        known = schema_file()["events"]
        if kind not in known["kinds"] or state not in known["states"]:
            raise RunFolderError(
                f"cannot record event {name!r}",
                observed=f"kind {kind!r} and state {state!r}",
                do=f"use a kind of {', '.join(known['kinds'])} and a state of {', '.join(known['states'])}",
            )
        mono = time.monotonic_ns()
        anchor = self.manifest["clock"]
        t_ns = int(anchor["epoch_ns"] + mono - anchor["mono_ns"])
        row = {"t_ns": t_ns, "mono_ns": mono, "kind": kind, "name": name, "state": state, "data": dict(data or {})}
        with self._lock, (self.path / schema_file()["layout"]["events"]).open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        return t_ns

    @contextmanager
    def phase(self, name: str, data: Mapping[str, Any] | None = None) -> Iterator[None]:
        """A phase event pair around the body; the end is written on an exception too."""
        self.event("phase", name, "begin", data)
        try:
            yield
        finally:
            self.event("phase", name, "end", data)

    def add_acks(self, rows: pa.Table, part: str = "part") -> Path:
        """Writes send rows as one Parquet file."""
        return self._add("acks", rows, part)

    def add_reads(self, rows: pa.Table, part: str = "part") -> Path:
        """Writes read-back rows as one Parquet file."""
        return self._add("reads", rows, part)

    def add_metrics(self, rows: pa.Table | Sequence[Mapping[str, Any]], part: str = "part") -> Path:
        """Writes metric samples (a table, or dicts with the fields of the schema) as one Parquet file."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), arrow_schema("metrics"))
        return self._add("metrics", table, part)

    def add_fetches(self, rows: pa.Table, part: str = "part") -> Path:
        """Writes the fetches of followers as one Parquet file."""
        return self._add("fetches", rows, part)

    def add_replicas(self, rows: pa.Table, part: str = "part") -> Path:
        """Writes what one replica has on disk as one Parquet file."""
        return self._add("replicas", rows, part)

    def add_partitions(self, rows: pa.Table, part: str = "part") -> Path:
        """Writes the timeline of leaders and in-sync replicas, from the metadata log, as one Parquet file."""
        return self._add("partitions", rows, part)

    def add_polls(self, rows: pa.Table, part: str = "part") -> Path:
        """Writes what a consumer was given while it ran as one Parquet file."""
        return self._add("polls", rows, part)

    def add_watermarks(self, rows: pa.Table, part: str = "part") -> Path:
        """Writes sampled high watermarks as one Parquet file."""
        return self._add("watermarks", rows, part)

    def add_histograms(self, rows: pa.Table, part: str = "part") -> Path:
        """Writes records counted by block and bucket as one Parquet file."""
        return self._add("histograms", rows, part)

    def update(self, **changes: Any) -> None:
        """Replaces manifest values that are known only later, e.g. versions."""
        unknown = sorted(set(changes) - set(self.manifest))
        if unknown:
            raise RunFolderError(
                f"cannot update the manifest of {self.path.name}",
                observed=f"unknown {', '.join(unknown)}",
                do=f"use the names in {SCHEMA_FILE.name}",
            )
        self.manifest.update(changes)
        self._save_manifest()

    def finish(self, failure: str = "") -> Path:
        """Ends the run: state finished, or failed when a failure text is given. Returns the folder."""
        clock = {**self.manifest["clock"], "ended_mono_ns": time.monotonic_ns()}
        state = "failed" if failure else "finished"
        self.update(state=state, failure=failure, ended_ns=time.time_ns(), clock=clock)
        return self.path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish("" if error is None else f"{type(error).__name__}: {error}")

    def _save_manifest(self) -> None:
        path = self.path / str(schema_file()["layout"]["manifest"])
        write_aside(path, json.dumps(self.manifest, indent=2, default=str) + "\n")

    def _add(self, table: str, rows: pa.Table, part: str) -> Path:
        want = arrow_schema(table)
        missing = [n for n in want.names if n not in rows.column_names]
        extra = [n for n in rows.column_names if n not in want.names]
        if missing or extra:
            raise RunFolderError(
                f"cannot add {table} to {self.path.name}",
                observed=f"missing columns {missing} and unknown columns {extra}",
                do=f"use exactly the columns of {SCHEMA_FILE.name}",
            )
        try:
            cast = rows.select(want.names).cast(want)
        except (pa.ArrowInvalid, ValueError) as e:
            raise RunFolderError(
                f"cannot add {table} to {self.path.name}",
                observed=" ".join(str(e).split()),
                do=f"give every column the type in {SCHEMA_FILE.name}",
            ) from e
        with self._lock:
            number = self._parts.get(table, 0)
            self._parts[table] = number + 1
        path = self.path / table / f"{part}-{number:04d}.parquet"
        aside = path.with_name(f".{path.name}")
        dense = [f.name for f in want if pa.types.is_integer(f.type)]
        try:
            pq.write_table(
                cast,
                aside,
                compression="zstd",
                write_page_checksum=True,
                use_dictionary=[n for n in want.names if n not in dense],
                column_encoding=dict.fromkeys(dense, "DELTA_BINARY_PACKED"),
            )
        except OSError as e:
            aside.unlink(missing_ok=True)
            raise RunFolderError(
                f"cannot add {table} to {self.path.name}",
                observed=" ".join(str(e).split()),
                do=f"make room on the disk of {self.path.parent} (see `df`), then run it again",
            ) from e
        aside.replace(path)
        return path


def _fresh_folder(root: Path, name: str) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for n in range(1, 1000):
        path = root / (name if n == 1 else f"{name}-{n}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise RunFolderError(
        "cannot make a run folder", observed=f"{name} taken 999 times in {root}", do="move old runs away"
    )


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run folder; raises RunFolderError where there is none or it is of another version."""
    file = path / str(schema_file()["layout"]["manifest"])
    try:
        manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as e:
        raise RunFolderError(f"cannot read run {path}", observed=str(e), do="give a folder made by a run") from e
    # What an older version lacks or calls otherwise, the analysis supplies.
    if manifest.get("schema_version") not in (schema_file()["version"], *map(int, schema_file()["older"])):
        raise RunFolderError(
            f"cannot read run {path}",
            observed=f"schema version {manifest.get('schema_version')!r}, wanted {schema_file()['version']}",
            do="make the run again, or read it with the release that made it",
        )
    return manifest


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of a run in order of writing; a last line cut short by a crash is skipped."""
    rows: list[dict[str, Any]] = []
    for line in (path / str(schema_file()["layout"]["events"])).read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows
