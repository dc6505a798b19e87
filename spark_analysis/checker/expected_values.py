"""The checksum of the value that a load client writes, from what the run folder says of it.

A value is a fixed noise that follows from the producer's name, with due time and sequence number in it
(harness/run_folder/schema.json, replicas.value_crc). A CRC is linear: the bytes of both numbers change that of the
noise each by itself, so that tables give the checksum of millions of values in one pass.
"""

from __future__ import annotations

import struct
import zlib
from functools import cache

import numpy as np

from spark_analysis.checker.columns import Array

_MAGIC = 0x52534C31
_DUE, _SEQ, _NAME = 4, 12, 21  # where these begin
_LOW, _FACTOR, _ADDED = (1 << 48) - 1, 0x5DEECE66D, 0xB  # of Java's generator of random numbers


def crcs(producer: str, size: int, seqs: Array, due_ns: Array) -> Array:
    """The CRC-32 of each of these values of `size` bytes."""
    found = np.full(len(seqs), zlib.crc32(template(producer, size)), np.uint32)
    for begin, numbers in ((_DUE, due_ns), (_SEQ, seqs)):
        unsigned = numbers.astype(np.int64).view(np.uint64)
        for pair in range(4):
            found ^= _changes(size - begin - 2 * pair)[(unsigned >> np.uint64(48 - 16 * pair)) & np.uint64(0xFFFF)]
    return found


def known(producer: str, size: int) -> bool:
    """True if a value of this producer is of that form."""
    return bool(producer) and size >= _NAME + len(producer.encode())


@cache
def template(producer: str, size: int) -> bytes:
    """The value of due time 0 and sequence 0."""
    seed = (_hash_code(producer) ^ _FACTOR) & _LOW
    noise = bytearray()
    while len(noise) < size:
        seed = (seed * _FACTOR + _ADDED) & _LOW
        noise += struct.pack("<I", seed >> 16)
    name = producer.encode()
    head = struct.pack(">iqqb", _MAGIC, 0, 0, len(name)) + name
    return head + bytes(noise[len(head) : size])


@cache
def _changes(behind: int) -> Array:
    """The changes of a CRC by two bytes, the first of which has that many bytes from it to the end."""
    zeros = zlib.crc32(bytes(behind))
    first = [zlib.crc32(bytes([byte]) + bytes(behind - 1)) ^ zeros for byte in range(256)]
    second = [zlib.crc32(bytes([0, byte]) + bytes(behind - 2)) ^ zeros for byte in range(256)]
    return (np.array(first, np.uint32)[:, None] ^ np.array(second, np.uint32)[None, :]).ravel()


def _hash_code(text: str) -> int:
    """Java's hash code of a string, with its sign."""
    code = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    return code - (1 << 32) if code >> 31 else code
