"""Electable sets in the bytes of metadata records; the tests of member_hang read those of real controllers."""

from __future__ import annotations

import struct
from uuid import UUID

from harness.recording.electable_sets import Change, Created, numbered, of_record

TOPIC = UUID(int=7)


def _record(kind: int, *tags: tuple[bytes, bytes]) -> bytes:
    body = struct.pack(">i", 3) + TOPIC.bytes + bytes([len(tags)])
    return bytes([1, kind, 2]) + body + b"".join(tag + bytes([len(data)]) + data for tag, data in tags)


def _set(*members: int, unclean: tuple[int, ...] = ()) -> tuple[bytes, bytes]:
    lists = [struct.pack(f">h{len(ids)}i", len(ids), *ids) for ids in (members, unclean)]
    return b"\x91\x4e", b"\0" + b"".join(lists)  # 10001 as a varint


def test_a_set_is_read_behind_other_fields() -> None:
    isr = (b"\0", b"\x03\0\0\0\x01\0\0\0\x02")
    assert of_record(_record(5, isr, _set(1, 3, unclean=(3,))), 9) == Change(9, TOPIC, 3, (1, 3))
    assert of_record(_record(5, _set()), 9) == Change(9, TOPIC, 3, ()), "the set was emptied"


def test_records_that_change_no_set_are_changes_of_the_partition() -> None:
    assert of_record(_record(5, (b"\x01", b"\0\0\0\x02")), 9) == Change(9, TOPIC, 3, None)
    assert of_record(_record(3, _set(1, 2)), 9) == Created(TOPIC, 3), "a new partition has none"
    assert of_record(_record(4), 9) is None, "of another type"
    assert of_record(b"", 9) is None


def test_each_change_of_a_partition_is_one_epoch() -> None:
    def of(partition: int, *members: int) -> Change:
        return Change(9, TOPIC, partition, members or None)

    found = numbered([of(2, 1), Created(TOPIC, 3), of(3, 1), of(2), of(3), Created(TOPIC, 4), of(4), of(3, 2)])
    assert [(c.partition, c.epoch) for c in found] == [(2, -1), (3, 1), (2, -1), (3, 2), (4, 1), (3, 3)]
