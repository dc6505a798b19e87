"""The value of a load client's record: who wrote it, as which of its records, due when."""

from __future__ import annotations

import struct

MAGIC = 0x52534C31
_HEAD = struct.Struct(">iqqb")  # magic, due time in epoch ns, sequence, length of the producer's name


def value(producer: str, seq: int, due_ns: int, size: int = 100) -> bytes:
    """A value of at least `size` bytes, the same layout as the Java client's."""
    name = producer.encode()
    return (_HEAD.pack(MAGIC, due_ns, seq, len(name)) + name).ljust(size, b"\0")


def author(data: bytes | None) -> tuple[str, int]:
    """Producer and sequence; ("", -1) if no load client wrote the value."""
    producer, seq, _ = content(data)
    return producer, seq


def content(data: bytes | None) -> tuple[str, int, int]:
    """Producer, sequence and due time in epoch ns; ("", -1, 0) if no load client wrote the value."""
    if data is None or len(data) < _HEAD.size:
        return "", -1, 0
    magic, due_ns, seq, length = _HEAD.unpack_from(data)
    if magic != MAGIC or length < 0:
        return "", -1, 0
    return data[_HEAD.size : _HEAD.size + length].decode(errors="replace"), seq, due_ns
