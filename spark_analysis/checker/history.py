"""A run folder as the checker reads it: the small tables and notes, and which files hold the large ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_analysis.checker import timeline
from spark_analysis.checker.facts import BUCKET_BITS, Facts, Place, Stretch, producers
from spark_analysis.checker.observed import Observed, ended_early
from spark_analysis.checker.scatter import Task, tasks
from spark_analysis.checker.transactions import Reads
from spark_analysis.errors import UNKNOWN, AnalysisError
from spark_analysis.input.folders import check_table, parts, read_folder, reading
from spark_analysis.locations import Location, location, parquet

LARGE = ("acks", "replicas", "polls")
SMALL = ("partitions", "watermarks")
Row = dict[str, Any]


@dataclass(frozen=True)
class History:
    """One run. `read`: notes of the replicas that were read; `with_rows`: the logs that have any."""

    path: Location
    manifest: Row
    events: list[Row]
    files: dict[str, list[str]]
    partitions: list[Row]
    watermarks: list[Row]
    with_rows: frozenset[tuple[Place, str]]

    @property
    def id(self) -> str:
        """The run id."""
        return str(self.manifest["run_id"])

    @property
    def level(self) -> int:
        """The lowest level of rackspan.version in the metadata log; where none is noted the one in the spec, else 1."""
        read = [d["level"] for d in self._notes("partitions-read") if "level" in d]
        formatted = self.manifest["spec"].get("cluster", {}).get("features", {}).get("rackspan.version", 1)
        return int(min(read, default=formatted))

    @property
    def bytes(self) -> int:
        """Size of the large tables."""
        return sum(location(file).stat().st_size for name in LARGE for file in self.files[name])

    @cached_property
    def tasks(self) -> list[Task]:
        """The row groups of the large tables."""
        return [task for name in LARGE for task in tasks(name, self.files[name])]

    @property
    def ends(self) -> dict[tuple[Place, str], int]:
        """The end that each replica was read to, by its note."""
        return {((d["topic"], d["partition"]), d["node"]): d["end_offset"] for d in self._notes("replica")}

    @property
    def read(self) -> dict[Place, tuple[str, ...]]:
        """The nodes whose logs were read: noted, and with rows unless the log was empty."""
        found: dict[Place, list[str]] = {}
        for (place, node), end in self.ends.items():
            nodes = found.setdefault(place, [])
            if end == 0 or (end > 0 and (place, node) in self.with_rows):
                nodes.append(node)
        return {place: tuple(nodes) for place, nodes in found.items()}

    @property
    def degrades(self) -> dict[str, list[Row]]:
        """The times in which min.insync.racks was lowered, by topic."""
        found: dict[str, list[Row]] = {}
        for note in self._notes("degrades"):
            for degrade in note["degrades"]:
                found.setdefault(degrade["topic"], []).append(degrade)
        return found

    @property
    def ledger(self) -> dict[Place, tuple[tuple[int, int], ...]]:
        """The ranges of the ledger as the run ended; one that was open then has no end."""
        found: dict[Place, tuple[tuple[int, int], ...]] = {}
        for note in self._notes("ledger"):
            for one in note["ranges"]:
                place = (one["topic"], one["partition"])
                found[place] = (
                    *found.get(place, ()),
                    (one["from"], timeline.NEVER if one["to"] is None else one["to"]),
                )
        return found

    @cached_property
    def transactions(self) -> list[Row]:
        """The transactions of all producers: topic, producer, first and last sequence, and outcome."""
        return [one for note in self._notes("transactions") for one in note["transactions"]]

    @property
    def _in_transactions(self) -> list[Row]:
        """The notes of the producers of transactions."""
        return [note for note in self._notes("producer") if note.get("transaction_records")]

    @cached_property
    def _read_committed(self) -> set[str]:
        """The topics that were read to their end with read_committed, and in no other way, with the rows there."""
        notes = self._notes("read-back")
        other = {n["topic"] for n in notes if not n["complete"] or n.get("isolation") != "read_committed"}
        # A transaction that has no end hides what is behind it: what was read ends before the log does.
        ends = [(n["topic"], {int(p): end for p, end in n["end_offsets"].items()}) for n in notes]
        other |= {
            topic
            for topic, read in ends
            if any(place[0] == topic and end > read.get(place[1], 0) for (place, _), end in self.ends.items())
        }
        columns = [pq.read_table(**parquet(file), columns=["topic"])["topic"] for file in parts(self.path, "reads")]
        with_rows = {topic for column in columns for topic in column.unique().to_pylist()}
        return ({n["topic"] for n in notes} - other) & with_rows

    def reads(self) -> Reads:
        """Records of each producer of transactions that were read, of topics that were read with read_committed."""
        wanted = {(one["topic"], one["producer"]) for one in self.transactions if one["topic"] in self._read_committed}
        found: dict[tuple[str, str], dict[str, Any]] = {}
        columns, files = ["seq", "partition", "offset"], parts(self.path, "reads")
        for topic, producer in sorted(wanted):
            mine = (pc.field("topic") == topic) & (pc.field("producer") == producer)
            tables = [pq.read_table(**parquet(f), columns=columns, filters=mine) for f in files]
            read = pa.concat_tables(tables).sort_by("seq")
            found[topic, producer] = {name: read[name].to_numpy().astype(np.int64) for name in columns}
        return found

    def _notes(self, name: str) -> list[Row]:
        return [e["data"] for e in self.events if (e["kind"], e["name"]) == ("note", name)]

    def replicas_of(self, place: Place) -> int:
        """The number of replicas that the metadata log says last; 0 where it says nothing."""
        states = self.states.get(place)
        return int(states[-1]["replicas"]) if states else 0

    @cached_property
    def states(self) -> dict[Place, list[Row]]:
        """The states of each partition in order, by the metadata log."""
        return timeline.by_place(self.partitions)

    @cached_property
    def forgotten(self) -> dict[str, int]:
        """Numbers of records sent to each topic before it was deleted and created again: nothing has them."""
        created = timeline.recreated(self.partitions, self.states)
        for note in self._notes("partitions-read"):
            created |= note.get("recreated", {})
        found = {topic: self._sent_before(topic, t_ns + timeline.CLOCK_NS) for topic, t_ns in created.items()}
        return {topic: number for topic, number in found.items() if number}

    def _sent_before(self, topic: str, t_ns: int) -> int:
        mine = (pc.field("topic") == topic) & (pc.field("sent_ns") < t_ns)
        files = self.files["acks"]
        return sum(pq.read_table(**parquet(f), columns=["seq"], filters=mine).num_rows for f in files)

    def facts(self, min_racks: int | None = None, bits: int = BUCKET_BITS) -> Facts:
        """The facts that every task has to know. `min_racks` takes the place of the topics' own min.insync.racks."""
        states = self.states
        racks = {place: timeline.too_few_racks(rows, min_racks) for place, rows in states.items()}
        replicas = {place: timeline.too_few_replicas(rows) for place, rows in states.items()}
        degrades = self.degrades
        below = {place: timeline.below_promise(rows, degrades.get(place[0], ())) for place, rows in states.items()}
        read, forgotten = self.read, self.forgotten
        return Facts(
            producers(self.events, self.level),
            read,
            frozenset(
                place
                for place, nodes in read.items()
                if len(nodes) >= self.replicas_of(place) > 0 and place[0] not in forgotten
            ),
            {place: tuple({row["leader_epoch"] for row in rows}) for place, rows in states.items()},
            {"ack-under-racks": _some(racks), "ack-under-replicas": _some(replicas), "ack-not-in-ledger": _some(below)},
            bits,
            self.ledger,
        )

    def requires(self, min_racks: int | None) -> dict[str, bool]:
        """True for the rules on in-sync replicas and on transactions that something in the run is a case of."""
        racks = any((min_racks or row["min_racks"]) > 1 for row in self.partitions)
        replicas = any(timeline.need_replicas(row) > 1 for row in self.partitions)
        in_transactions = self._in_transactions
        return {
            "ack-under-racks": racks,
            "ack-under-replicas": replicas,
            "ack-not-in-ledger": bool(self.degrades),
            "committed-not-read": bool(in_transactions),
            "aborted-read": any(note.get("abort_every") for note in in_transactions),
            "split-transaction": bool(in_transactions),
        }

    def unread(self, places: frozenset[Place], observed: Observed | None = None) -> list[str]:
        """Data of these places that was not read back or observed, and so not checked."""
        missing = []
        if not any(note.get("complete", True) for note in self._notes("partitions-read")):
            missing.append("the metadata log: acknowledgements were not compared with the in-sync replicas")
        if self.degrades and not self._notes("ledger"):
            missing.append("the ledger: acknowledgements in degrades were not compared with it")
        in_transactions = {one["topic"] for one in self.transactions}
        for topic in sorted(in_transactions - self._read_committed) if in_transactions else ():
            missing.append(f"{topic} with read_committed: transactions were not compared with what is read")
        for topic, number in sorted(self.forgotten.items()):
            missing.append(f"{topic}: deleted and created again, what became of {number} records could not be known")
        ended = {one["producer"] for one in self.transactions}
        for name in sorted({note["producer"] for note in self._in_transactions} - ended):
            missing.append(f"{name}: how its transactions ended is not noted")
        read = self.read
        for place in sorted(place for place in places if place[1] >= 0):
            have, wanted = len(read.get(place, ())), self.replicas_of(place)
            if not wanted:
                missing.append(f"{place[0]}-{place[1]}: not in the metadata log")
            elif have < wanted:
                missing.append(f"{place[0]}-{place[1]}: {have} of {wanted} replicas read")
        for note in self._notes("observer-failed"):
            missing.append(f"{note['topic']}: what the observer would have observed after {note['error']}")
        ends: dict[Place, int] = {}
        for (place, _), end in self.ends.items():
            ends[place] = max(end, ends.get(place, 0))
        return missing + ended_early(observed or {}, places, ends)


def _some(stretches: dict[Place, tuple[Stretch, ...]]) -> dict[Place, tuple[Stretch, ...]]:
    return {place: found for place, found in stretches.items() if found}


def read_history(path: Location) -> History:
    """Reads one run folder. Raises AnalysisError that names the folder; a table that is missing or cut short has exit
    code 4.
    """
    folder = read_folder(path)
    for name in (*LARGE, *SMALL):
        check_table(path, name)
    small = {name: [row for file in parts(path, name) for row in _rows(file)] for name in SMALL}
    files = {name: [str(file.absolute()) for file in parts(path, name)] for name in LARGE}
    return History(path, folder.manifest, folder.events, files, **small, with_rows=_logs(files["replicas"]))


def _rows(file: Location) -> list[Row]:
    with reading(file):
        rows: list[Row] = pq.read_table(**parquet(file)).to_pylist()
    return rows


def _logs(files: list[str]) -> frozenset[tuple[Place, str]]:
    """The logs that have rows: by the footers where a row group is of one log, else from the rows."""
    found = set()
    for file in files:
        opened = pq.ParquetFile(**parquet(file))
        names = ["topic", "partition", "node"]
        for number in range(opened.num_row_groups):
            group = opened.metadata.row_group(number)
            columns = {group.column(i).path_in_schema: group.column(i).statistics for i in range(group.num_columns)}
            stats = [columns[name] for name in names]
            if all(one is not None and one.has_min_max and one.min == one.max for one in stats):
                topic, partition, node = (one.min for one in stats)
                found.add(((topic, partition), node))
                continue
            logs = opened.read_row_group(number, columns=names).group_by(names).aggregate([])
            found |= {((row["topic"], row["partition"]), row["node"]) for row in logs.to_pylist()}
    return frozenset(found)


def require_replicas(history: History) -> None:
    """Raises AnalysisError (exit code 3: unknown) if no replica of the run was read."""
    if not history.ends:
        raise AnalysisError(
            f"{history.path} cannot be checked",
            observed="no replica's log was read back: " + json.dumps(sorted({e["name"] for e in history.events}))[:200],
            do="make the run with `rackspan soak`, or a scenario that reads back every replica at its end",
            code=UNKNOWN,
        )
