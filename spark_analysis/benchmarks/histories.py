"""A history of any size as a run folder: a healthy cluster's, with a few anomalies planted at known places."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spark_analysis.checker.expected_values import crcs
from spark_analysis.input.schemas import contract, version

TOPIC, PARTITIONS, NODES = "scale", 6, ("a1", "b1", "c1")
START, STEP, MS = 1_767_225_600_000_000_000, 10_000, 1_000_000  # ns: the first record's due time, and between two
CHUNK = 1_000_000  # rows of a file
PRODUCER, SIZE = "patient", 100
LOST, DIVERGENT = 5, 3
_TYPES = {"string": pa.string(), "int32": pa.int32(), "int64": pa.int64(), "double": pa.float64()}


def write_history(folder: Path, records: int, seed: int) -> dict[str, int]:
    """Writes a run folder of `records` acknowledged records in three replicas; returns the anomalies planted in it.

    The producer sends its records to the partitions in turn, so record i is at offset i // PARTITIONS of partition
    i % PARTITIONS. One more in a hundred is refused, by another producer. A consumer reads everything.
    """
    records -= records % PARTITIONS
    rng = np.random.default_rng(seed)
    for table in contract()["tables"]:
        (folder / table).mkdir(parents=True)
    for n, i in enumerate(_chunks(records)):
        _write(folder, "acks", f"patient-{n}", _acks(PRODUCER, i, i // PARTITIONS, "OK"))
        _write(folder, "polls", str(n), _polls(i))
    beyond = np.arange(records, records + LOST)
    _write(folder, "acks", "lost", _acks(PRODUCER, beyond, beyond // PARTITIONS, "OK"))
    for n, i in enumerate(_chunks(records // 100)):
        _write(folder, "acks", f"refused-{n}", _acks("no-retry", i, np.full(len(i), -1), "NOT_ENOUGH_RACKS"))
    for partition in range(PARTITIONS):
        for n, offset in enumerate(_chunks(records // PARTITIONS)):
            crc = rng.integers(0, 1 << 32, len(offset))
            i = offset * PARTITIONS + partition
            value = crcs(PRODUCER, SIZE, i, START + i * STEP).astype(np.int64)
            for broker, node in enumerate(NODES, 1):
                odd = node == NODES[-1] and (partition, n) == (0, 0)
                log = _log(node, broker, partition, i, value, crc ^ (offset < DIVERGENT) if odd else crc)
                _write(folder, "replicas", f"{node}-{partition}-{n}", log)
    _write(folder, "partitions", "all", _partitions())
    _notes(folder, records, seed)
    return {"divergent-replicas": DIVERGENT, "lost-write": LOST}


def _chunks(rows: int) -> Iterator[np.ndarray[Any, np.dtype[np.int64]]]:
    for begin in range(0, rows, CHUNK):
        yield np.arange(begin, min(begin + CHUNK, rows))


def _acks(producer: str, i: Any, offset: Any, result: str) -> dict[str, Any]:
    due = START + i * STEP
    cause = "" if result == "OK" else "one rack is in sync and two are requested"
    return {
        "producer": producer,
        "seq": i,
        "topic": TOPIC,
        "partition": i % PARTITIONS,
        "offset": offset,
        "due_ns": due,
        "sent_ns": due + 1000,
        "done_ns": due + MS,
        "due_mono_ns": due - START,
        "result": result,
        "cause": cause,
    }


def _polls(i: Any) -> dict[str, Any]:
    place = {"topic": TOPIC, "partition": i % PARTITIONS, "offset": i // PARTITIONS}
    read = {"leader_epoch": 0, "producer": PRODUCER, "seq": i, "read_ns": START + i * STEP + 2 * MS}
    return {"consumer": "reader", "number": i, **place, **read}


def _log(node: str, broker: int, partition: int, i: Any, value: Any, crc: Any) -> dict[str, Any]:
    due = START + i * STEP
    return {
        "node": node,
        "broker": broker,
        "topic": TOPIC,
        "partition": partition,
        "offset": i // PARTITIONS,
        "leader_epoch": 0,
        "producer": PRODUCER,
        "seq": i,
        "due_ns": due,
        "timestamp_ms": due // MS,
        "value_crc": value,
        "batch_crc": crc,
        "control": 0,
    }


def _partitions() -> dict[str, Any]:
    state = {"leader": 1, "leader_epoch": 0, "partition_epoch": 0, "isr": "1,2,3", "elr": "", "isr_size": 3}
    racks = {"replicas": 3, "isr_racks": 3, "replica_racks": 3, "min_replicas": 2, "min_racks": 2}
    partition = np.arange(PARTITIONS)
    return {"metadata_offset": partition, "t_ns": START - MS, "topic": TOPIC, "partition": partition, **state, **racks}


def _write(folder: Path, table: str, name: str, columns: dict[str, Any]) -> None:
    rows = max(len(c) for c in columns.values() if isinstance(c, np.ndarray))
    fields = [(f["name"], _TYPES[f["type"]]) for f in contract()["tables"][table]["fields"]]
    arrays = [
        pa.array(c, type_) if isinstance(c := columns[field], np.ndarray) else pa.repeat(pa.scalar(c, type_), rows)
        for field, type_ in fields
    ]
    content = pa.Table.from_arrays(arrays, names=[field for field, _ in fields])
    pq.write_table(content, folder / table / f"{name}.parquet", compression="zstd")


def _notes(folder: Path, records: int, seed: int) -> None:
    ends = {"end_offset": records // PARTITIONS}
    notes = [("producer", {"producer": PRODUCER, "acks": "all", "idempotence": True, "size": SIZE})]
    notes += [("producer", {"producer": "no-retry", "acks": "all", "idempotence": False, "retries": 0})]
    notes += [
        ("replica", {"topic": TOPIC, "partition": p, "node": node, **ends}) for p in range(PARTITIONS) for node in NODES
    ]
    notes += [("partitions-read", {"complete": True})]
    frame = {"t_ns": START, "mono_ns": 0, "kind": "note", "state": "point"}
    lines = [json.dumps({**frame, "name": name, "data": data}) for name, data in notes]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sample: dict[str, Any] = {"int": 0, "string": "", "object": {}, "array": []}
    manifest = {f["name"]: sample[f["type"]] for f in contract()["manifest"]}
    manifest |= {"schema_version": version(), "run_id": folder.name, "name": "scale", "kind": "other"}
    manifest |= {"state": "finished", "seed": seed, "clock": {"epoch_ns": 0, "mono_ns": 0}}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
