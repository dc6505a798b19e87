"""Record files of the load client to Arrow tables with the columns of schema.json."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from harness.run_folder.run_folder import RunFolderError, arrow_schema

_SEND_MAGIC, _READ_MAGIC, _COUNTS_MAGIC = b"RKSENDS1", b"RKREADS1", b"RKHISTO1"
_SEND = np.dtype(
    [
        ("due", "<i8"),
        ("sent", "<i8"),
        ("done", "<i8"),
        ("offset", "<i8"),
        ("partition", "<i4"),
        ("result", "<u2"),
        ("cause", "<u2"),
    ]
)
_READ = np.dtype(
    [
        ("offset", "<i8"),
        ("timestamp_ms", "<i8"),
        ("read", "<i8"),
        ("seq", "<i8"),
        ("due", "<i8"),
        ("partition", "<i4"),
        ("leader_epoch", "<i4"),
        ("producer", "S32"),
    ]
)
_NAMES_AT, _NAME_BYTES = 1024, 64
_HEADER = 16_384  # bytes before the first record of a send file


def read_acks(path: Path) -> pa.Table:
    """Acks rows of one send file. Works on the file of a killed client: entries never tried are skipped."""
    raw = _load(path, _SEND_MAGIC, _SEND)
    header = int.from_bytes(raw[12:16], "little")
    epoch, mono = (int(v) for v in np.frombuffer(raw, "<i8", 2, 24))
    entries = np.frombuffer(raw, _SEND, (len(raw) - header) // _SEND.itemsize, header)
    untried = np.flatnonzero(entries["due"] == 0)
    entries = entries[: untried[0]] if len(untried) else entries
    names = [_text(raw[at : at + _NAME_BYTES]) for at in range(_NAMES_AT, header - _NAME_BYTES + 1, _NAME_BYTES)]
    shift = epoch - mono
    # An answer half written when the client was killed has no done time yet: it counts as no answer.
    answered = entries["done"] != 0
    columns = {
        "producer": _constant(_text(raw[40:72]), len(entries)),
        "seq": np.arange(len(entries), dtype=np.int64),
        "topic": _constant(_text(raw[72:336]), len(entries)),
        "partition": entries["partition"],
        "offset": np.where(answered, entries["offset"], -1),
        "due_ns": entries["due"] + shift,
        "sent_ns": entries["sent"] + shift,
        "done_ns": np.where(answered, entries["done"] + shift, 0),
        "due_mono_ns": entries["due"],
        "result": _named(names, np.where(answered, entries["result"], 0)),
        "cause": _named(names, np.where(answered, entries["cause"], 0)),
    }
    return _table("acks", columns)


def read_reads(path: Path) -> pa.Table:
    """Reads rows of one read-back file; a last entry cut short is skipped."""
    topic, entries, shift = _reads(path)
    columns = {
        "topic": _constant(topic, len(entries)),
        "partition": entries["partition"],
        "offset": entries["offset"],
        "producer": pa.array(entries["producer"].astype("U32")),
        "seq": entries["seq"],
        "timestamp_ms": entries["timestamp_ms"],
        "read_ns": entries["read"] + shift,
    }
    return _table("reads", columns)


def read_due(path: Path) -> np.ndarray:
    """When the records of one read-back file were due at their producers, in nanoseconds since the epoch."""
    return _reads(path)[1]["due"]


def read_polls(path: Path, consumer: str) -> pa.Table:
    """Polls rows of what a client consumed itself; a last entry cut short is skipped."""
    topic, entries, shift = _reads(path)
    columns = {
        "consumer": _constant(consumer, len(entries)),
        "number": np.arange(len(entries), dtype=np.int64),
        "topic": _constant(topic, len(entries)),
        "partition": entries["partition"],
        "offset": entries["offset"],
        "leader_epoch": entries["leader_epoch"],
        "producer": pa.array(entries["producer"].astype("U32")),
        "seq": entries["seq"],
        "read_ns": entries["read"] + shift,
    }
    return _table("polls", columns)


def read_histograms(path: Path) -> pa.Table:
    """Histogram rows of what a client counted; windows are named BLOCK/PART. A last line cut short is skipped."""
    magic, _, rest = _bytes(path).partition(b",")
    if magic != _COUNTS_MAGIC:
        raise _foreign(path, f"start {magic[:8]!r}, wanted {_COUNTS_MAGIC!r}")
    producer, *lines = rest.decode().split("\n")
    rows = []
    for line in lines[:-1]:  # behind the last end of line there is nothing, or a line cut short
        window, measure, result, cause, low, width, records = line.split(",")
        block, _, part = window.partition("/")
        where = {"block": int(block), "part": part, "producer": producer, "measure": measure}
        counted = {"low_us": int(low), "width_us": int(width), "records": int(records)}
        rows.append({**where, "result": result, "cause": cause, **counted})
    return pa.Table.from_pylist(rows, arrow_schema("histograms"))


def _reads(path: Path) -> tuple[str, np.ndarray, int]:
    """Topic, entries, and the offset from monotonic to epoch times."""
    raw = _load(path, _READ_MAGIC, _READ)
    header = int.from_bytes(raw[12:16], "little")
    epoch, mono = (int(v) for v in np.frombuffer(raw, "<i8", 2, 16))
    entries = np.frombuffer(raw, _READ, (len(raw) - header) // _READ.itemsize, header)
    return _text(raw[40:header]), entries, epoch - mono


def _load(path: Path, magic: bytes, dtype: np.dtype[np.void]) -> bytes:
    raw = _bytes(path)
    if not any(raw[:8]) and raw.count(0, _HEADER) == max(0, len(raw) - _HEADER):
        # The client was killed before it began: it writes the first bytes of its file last.
        empty = _NAMES_AT + _NAME_BYTES
        return (magic + dtype.itemsize.to_bytes(4, "little") + empty.to_bytes(4, "little")).ljust(empty, b"\0")
    size = int.from_bytes(raw[8:12], "little")
    if raw[:8] != magic or size != dtype.itemsize:
        observed = f"start {raw[:8]!r} and records of {size} bytes, wanted {magic!r} and {dtype.itemsize}"
        raise _foreign(path, observed)
    return raw


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise RunFolderError(
            f"cannot read record file {path}", observed=str(e), do="start the load client first"
        ) from e


def _foreign(path: Path, observed: str) -> RunFolderError:
    return RunFolderError(
        f"cannot read record file {path}", observed=observed, do="use the load client of this checkout"
    )


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode()


def _constant(text: str, rows: int) -> pa.Array:
    return pa.array([text] * rows, pa.string())


def _named(names: list[str], codes: np.ndarray) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names)).cast(pa.string())


def _table(name: str, columns: dict[str, object]) -> pa.Table:
    schema = arrow_schema(name)
    return pa.table([pa.array(columns[f.name]).cast(f.type) for f in schema], schema=schema)
