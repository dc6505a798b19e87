"""Bytes on the wire: a topic's metadata with the fields that libraries omit, and produce requests with any."""

from __future__ import annotations

import socket
import ssl
import struct
import uuid
from dataclasses import dataclass

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.security import password, trust_file

MIN_REPLICAS_TAG, MIN_RACKS_TAG = 10000, 10001
_PRODUCE, _METADATA, _SASL_HANDSHAKE, _SASL_AUTHENTICATE = 0, 3, 17, 36
_CORRELATION = 7
_SECONDS = 30
_NOWHERE = b"nowhere"


@dataclass(frozen=True)
class TopicMetadata:
    """Error code of a topic, and its tagged fields: numbers by tag."""

    error: int
    fields: dict[int, int]


def topic_metadata(cluster: KafkaCluster, user: str, topic: str) -> TopicMetadata:
    """The metadata of a topic as a user receives it. Raises OSError, struct.error for malformed answers."""
    context = ssl.create_default_context(cafile=str(trust_file(cluster.folder)))
    address, _, port = cluster.plan.secure_bootstrap.split(",")[0].partition(":")
    with (
        socket.create_connection((address, int(port)), _SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=address) as s,
    ):
        _ask(s, _SASL_HANDSHAKE, 1, _text("PLAIN"))
        word = f"\0{user}\0{password(cluster.folder, user)}".encode()
        answer = _ask(s, _SASL_AUTHENTICATE, 0, struct.pack(">i", len(word)) + word)
        assert answer[:2] == b"\0\0", f"{user} may not enter: {answer!r}"
        name = topic.encode()
        wanted = uuid.UUID(int=0).bytes + varint(len(name) + 1) + name + b"\0"
        return _topic(_ask(s, _METADATA, 12, b"\2" + wanted + b"\0\0\0", flexible=True))


def produce_nowhere(bootstrap: str, version: int, tags: bytes) -> int | None:
    """Error code that a produce request to a topic that is not there gets, `tags` being its section of tagged fields;
    None if the broker hangs up. Raises TimeoutError if it does neither.
    """
    address, _, port = bootstrap.split(",")[0].partition(":")
    topic = b"\2" + varint(len(_NOWHERE) + 1) + _NOWHERE + b"\2" + struct.pack(">i", 0) + b"\0" + b"\0\0"
    body = b"\0" + struct.pack(">hi", -1, 1000) + topic + tags
    with socket.create_connection((address, int(port)), _SECONDS) as s:
        try:
            r = _Reader(_ask(s, _PRODUCE, version, body, flexible=True))
        except ConnectionError:
            return None
    assert (r.varint(), r.text(), r.varint(), r.number("i")) == (2, _NOWHERE, 2, 0), "another partition"
    return r.number("h")


def _ask(s: socket.socket, key: int, version: int, body: bytes, *, flexible: bool = False) -> bytes:
    header = struct.pack(">hhih", key, version, _CORRELATION, -1) + (b"\0" if flexible else b"")
    s.sendall(struct.pack(">i", len(header + body)) + header + body)
    answer = _exactly(s, struct.unpack(">i", _exactly(s, 4))[0])
    assert answer[:4] == struct.pack(">i", _CORRELATION), "the answer to another request"
    return answer[5 if flexible else 4 :]


def _exactly(s: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = s.recv(size - len(found))
        if not more:
            raise ConnectionError(f"closed after {len(found)} of {size} bytes")
        found += more
    return found


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def take(self, size: int) -> bytes:
        found, self._data = self._data[:size], self._data[size:]
        return found

    def number(self, form: str) -> int:
        found: int = struct.unpack(f">{form}", self.take(struct.calcsize(f">{form}")))[0]
        return found

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def text(self) -> bytes:
        return self.take(max(0, self.varint() - 1))

    def ints(self) -> bytes:
        return self.take(4 * max(0, self.varint() - 1))

    def fields(self) -> dict[int, bytes]:
        return {self.varint(): self.take(self.varint()) for _ in range(self.varint())}


def _topic(data: bytes) -> TopicMetadata:
    """The only topic of a metadata response, version 12."""
    r = _Reader(data)
    r.number("i")
    for _ in range(r.varint() - 1):  # brokers: id, host, port, rack
        r.number("i"), r.text(), r.number("i"), r.text(), r.fields()
    r.text(), r.number("i")  # cluster and controller
    assert r.varint() == 2, "the request names one topic"
    error = r.number("h")
    r.text(), r.take(16), r.take(1)  # name, id, internal
    for _ in range(r.varint() - 1):  # error, number, leader, epoch, replicas, in sync, offline
        r.take(2 + 4 + 4 + 4), r.ints(), r.ints(), r.ints(), r.fields()
    r.number("i")  # operations
    return TopicMetadata(error, {tag: int.from_bytes(value, "big") for tag, value in r.fields().items()})


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def varint(number: int) -> bytes:
    """A number as 32 bits without sign, seven a byte, the lowest first."""
    number &= 0xFFFFFFFF
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
