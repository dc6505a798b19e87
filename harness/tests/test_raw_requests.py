"""Bytes that no client sends, to a real broker: it answers or hangs up, and goes on to serve others."""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Iterator

import pytest

from harness.cluster import KafkaCluster
from harness.spec import parse

pytestmark = pytest.mark.cluster
PRODUCE = 0
VERSION = 9  # the first one with tagged fields
KNOWN_ERRORS = 10001  # the tag in which our clients say which codes they know
SECONDS = 30.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RACKSPAN_HOME", str(tmp_path_factory.mktemp("home")))
        with KafkaCluster.running(parse({"name": "raw", "racks": "a:1", "controllers": 1})) as running:
            yield running


def varint(number: int) -> bytes:
    """An unsigned varint of 32 bits."""
    number &= 0xFFFFFFFF
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def field(tag: int, content: bytes, claimed: int | None = None) -> bytes:
    """A tagged field; `claimed` is what it says of its length."""
    return varint(tag) + varint(len(content) if claimed is None else claimed) + content


def request(section: bytes) -> bytes:
    """A produce request for no topic, whose tagged fields are `section`."""
    header = struct.pack(">hhih", PRODUCE, VERSION, 7, -1) + b"\0"  # correlation 7, no client id, no tags
    body = b"\0" + struct.pack(">hi", -1, 5000) + varint(1) + section  # no transaction, acks=all, an empty list
    return struct.pack(">i", len(header + body)) + header + body


def exchange(cluster: KafkaCluster, data: bytes) -> bytes:
    """What the broker answers, without the length in front; b"" if it hangs up. Raises TimeoutError if neither."""
    host, _, port = cluster.bootstrap.partition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as s:
        s.sendall(data)
        return received(s)


def received(s: socket.socket) -> bytes:
    try:
        head = s.recv(4, socket.MSG_WAITALL)
        return s.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL) if len(head) == 4 else b""
    except ConnectionResetError:
        return b""


def answers(data: bytes) -> bool:
    """Whether that is an answer to our request."""
    return data[:4] == struct.pack(">i", 7)


READABLE = {
    "none": varint(0),
    "ours": varint(1) + field(KNOWN_ERRORS, b"\2"),
    "empty": varint(1) + field(KNOWN_ERRORS, b""),
    "negative": varint(1) + field(KNOWN_ERRORS, b"\x80"),
    "too long": varint(1) + field(KNOWN_ERRORS, b"\xff" * 5000),
    "repeated": varint(3) + field(KNOWN_ERRORS, b"\1") * 3,
    "others": varint(2) + field(9999, b"x") + field(10002, b"y"),
}
UNREADABLE = {
    "longer than it is": varint(1) + field(KNOWN_ERRORS, b"\2", claimed=100),
    "huge": varint(1) + field(KNOWN_ERRORS, b"\2", claimed=2**31 - 1),
    "negative length": varint(1) + field(KNOWN_ERRORS, b"\2", claimed=-1),
    "more fields than there are": varint(2**31 - 1) + field(KNOWN_ERRORS, b"\2"),
    "no section": b"",
}


def test_strange_fields_are_ignored_and_broken_ones_end_the_connection(cluster: KafkaCluster) -> None:
    for name, section in READABLE.items():
        assert answers(exchange(cluster, request(section))), name
    for name, section in UNREADABLE.items():
        assert exchange(cluster, request(section)) == b"", name
    assert answers(exchange(cluster, request(varint(0))))


def test_random_fields_neither_hang_nor_end_the_broker(cluster: KafkaCluster) -> None:
    process = cluster.node("a1").look()[0]
    seeds = random.Random(8)
    for number in range(200):
        section = varint(seeds.choice((1, 2, 3, 200, 2**31))) + seeds.randbytes(seeds.randrange(40))
        answer = exchange(cluster, request(section))
        assert answer == b"" or answers(answer), f"number {number}: {section.hex()}"
    assert cluster.node("a1").look()[0] == process
    assert answers(exchange(cluster, request(READABLE["ours"])))
