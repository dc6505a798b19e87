"""Tagged fields as somebody who means harm would send them, to a broker that is at work."""

from __future__ import annotations

import random
from collections import Counter

from harness.recording.log_errors import Allowed
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest
from system_tests.lib.wire import produce_nowhere, varint

REQUESTS, RANDOM = 400, 200
UNKNOWN_TOPIC_OR_PARTITION = 3
TAGS = (0, 1, 9_999, 10_000, 10_001, 10_002, 1 << 30)
NUMBERS = (0, 1, 2, 3, 4, 127, 128, 16_384, 1 << 27, (1 << 31) - 1, (1 << 32) - 1)
OURS = 10_001  # which errors a client knows


def field(tag: int, content: bytes, claimed: int | None = None) -> bytes:
    """A tagged field; `claimed` is what it says of its length."""
    return varint(tag) + varint(len(content) if claimed is None else claimed) + content


READABLE = {
    "none": varint(0),
    "ours": varint(1) + field(OURS, b"\2"),
    "empty": varint(1) + field(OURS, b""),
    "negative": varint(1) + field(OURS, b"\x80"),
    "too long": varint(1) + field(OURS, b"\xff" * 5000),
    "repeated": varint(3) + field(OURS, b"\1") * 3,
    "others": varint(2) + field(9999, b"x") + field(10002, b"y"),
}
BROKEN = {
    "longer than it is": varint(1) + field(OURS, b"\2", claimed=100),
    "huge": varint(1) + field(OURS, b"\2", claimed=2**31 - 1),
    "negative length": varint(1) + field(OURS, b"\2", claimed=-1),
    "more fields than there are": varint(2**31 - 1) + field(OURS, b"\2"),
    "no section": b"",
}

UNREADABLE = Allowed(
    r"(Closing socket for \S+ because of error|Exception while processing request from \S+) \(kafka\.network\.Proc",
    "a request that nobody can read",
)


class StrangeFields(RackTest):
    """A broker that another client uses all the while."""

    def test_a_request_is_answered_or_refused(self) -> None:
        """Wrong lengths, huge ones, repeated tags, random bytes: no hang, no crash, no memory by the sender's word."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=acks.CALM), [UNREADABLE]) as kafka:
            self.topics(kafka).create("orders", [[1]])
            producer = self.producer(kafka, "live", "orders", rate=50, delivery_timeout_ms=60000)
            producer.wait_totals("the producer to be served", lambda t: t["acked"] >= 20)
            broker = kafka.broker(1)  # the first of the bootstrap servers, which is sent to
            before = broker.look()
            for name, tags in READABLE.items():
                assert produce_nowhere(kafka.bootstrap, 9, tags) == UNKNOWN_TOPIC_OR_PARTITION, name
            for name, tags in BROKEN.items():
                assert produce_nowhere(kafka.bootstrap, 9, tags) is None, name
            chance = random.Random(8)
            for number in range(RANDOM):
                tags = varint(chance.choice((1, 2, 3, 200, 2**31))) + chance.randbytes(chance.randrange(40))
                code = produce_nowhere(kafka.bootstrap, 9, tags)
                assert code in (None, UNKNOWN_TOPIC_OR_PARTITION), f"number {number}: {tags.hex()}"
            observed: Counter[int | None] = Counter()
            for seed in range(REQUESTS):
                chance = random.Random(seed)
                sound = chance.random() < 1 / 3
                tags = section(chance, sound)
                code = produce_nowhere(kafka.bootstrap, chance.randint(9, 12), tags)
                assert code is not None or not sound, (
                    f"seed {seed}: connection closed on {tags!r}, which is only strange"
                )
                observed[code] += 1
            assert set(observed) == {None, UNKNOWN_TOPIC_OR_PARTITION}, observed
            assert REQUESTS // 10 < observed[None] < REQUESTS * 9 // 10, f"{observed}: that tries one outcome only"
            assert broker.look() == before, "it is another process now"
            assert produce_nowhere(kafka.bootstrap, 9, READABLE["ours"]) == UNKNOWN_TOPIC_OR_PARTITION
            sent = producer.end()
            expect.all_acknowledged(sent, len(sent))


def section(chance: random.Random, sound: bool) -> bytes:
    """A section of tagged fields: their number, and for each its tag, its length and its bytes."""
    fields = chance.randint(0, 3)
    out = varint(fields if sound else chance.choice(NUMBERS))
    for number in range(fields):
        content = chance.randbytes(chance.choice((0, 1, 2, 4, 8, 600)))
        tag = OURS + number if sound else chance.choice(TAGS)
        out += field(tag, content, None if sound or chance.random() < 0.5 else chance.choice(NUMBERS))
    return out if sound or chance.random() < 0.5 else out + chance.randbytes(chance.randint(0, 63))
