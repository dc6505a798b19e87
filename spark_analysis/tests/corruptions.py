"""Ways to corrupt a clean history: each a function of a history and a random source, with the kinds it must bring."""

from __future__ import annotations

import random
from collections.abc import Callable

from spark_analysis.tests.copies import Row, Small

Corrupt = Callable[[Small, random.Random], None]
CORRUPTIONS: dict[str, tuple[set[str], Corrupt]] = {}
_SECOND = 1_000_000_000


def brings(*kinds: str) -> Callable[[Corrupt], Corrupt]:
    """Registers a corruption by its name with the kinds of anomaly that must be among those found."""

    def register(corrupt: Corrupt) -> Corrupt:
        CORRUPTIONS[corrupt.__name__] = (set(kinds), corrupt)
        return corrupt

    return register


def _at(h: Small, offset: int, node: str | None = None) -> list[Row]:
    return [r for r in h.replicas if r["offset"] == offset and node in (None, r["node"])]


def _ack(h: Small, row: Row) -> Row:
    return next(a for a in h.acks if (a["producer"], a["seq"]) == (row["producer"], row["seq"]))


def _acknowledged(h: Small, rng: random.Random) -> Row:
    """Some acknowledged record, neither the first nor the last."""
    acked = sorted((a for a in h.acks if a["result"] == "OK"), key=lambda a: a["offset"])
    return rng.choice(acked[5:-5])


def _nodes(h: Small) -> list[str]:
    return sorted({r["node"] for r in h.replicas})


def _end(h: Small) -> int:
    return 1 + max(int(r["offset"]) for r in h.replicas)


def _append(h: Small, like: Row) -> None:
    """One more record at the end of every replica."""
    end = _end(h)
    for node in _nodes(h):
        h.replicas.append(like | {"node": node, "offset": end})
    for note in h.read:
        note["end_offset"] = end + 1


def _exchange(a: Row, b: Row, *names: str) -> None:
    for name in names:
        a[name], b[name] = b[name], a[name]


_CONTENT = ("producer", "seq", "due_ns", "value_crc", "timestamp_ms", "batch_crc")


def _swap(h: Small, one: int, other: int, nodes: list[str]) -> None:
    for node in nodes:
        _exchange(_at(h, one, node)[0], _at(h, other, node)[0], *_CONTENT)


@brings("lost-write", "offset-gap")
def dropped(h: Small, rng: random.Random) -> None:
    gone = _acknowledged(h, rng)["offset"]
    h.replicas = [r for r in h.replicas if r["offset"] != gone]


@brings("lost-write")
def tail_cut(h: Small, rng: random.Random) -> None:
    end = _end(h) - rng.randint(3, 20)
    h.replicas = [r for r in h.replicas if r["offset"] < end]
    for note in h.read:
        note["end_offset"] = end


@brings("lost-write")
def head_cut(h: Small, rng: random.Random) -> None:
    start = rng.randint(3, 20)
    h.replicas = [r for r in h.replicas if r["offset"] >= start]


@brings("lost-write", "inconsistent-offsets")
def dropped_and_closed_up(h: Small, rng: random.Random) -> None:
    gone = _acknowledged(h, rng)["offset"]
    h.replicas = [r for r in h.replicas if r["offset"] != gone]
    for r in h.replicas:
        r["offset"] -= r["offset"] > gone
    for note in h.read:
        note["end_offset"] -= 1


@brings("divergent-replicas")
def tail_cut_of_one_replica(h: Small, rng: random.Random) -> None:
    node, end = rng.choice(_nodes(h)), _end(h) - rng.randint(1, 20)
    h.replicas = [r for r in h.replicas if r["node"] != node or r["offset"] < end]
    h.end(node)["end_offset"] = end


@brings("divergent-replicas", "offset-gap")
def hole_in_one_replica(h: Small, rng: random.Random) -> None:
    node, gone = rng.choice(_nodes(h)), _acknowledged(h, rng)["offset"]
    h.replicas = [r for r in h.replicas if (r["node"], r["offset"]) != (node, gone)]


@brings("divergent-replicas")
def one_replica_empty(h: Small, rng: random.Random) -> None:
    node = rng.choice(_nodes(h))
    h.replicas = [r for r in h.replicas if r["node"] != node]
    h.end(node)["end_offset"] = 0


@brings("divergent-replicas")
def one_replica_longer(h: Small, rng: random.Random) -> None:
    node, end = rng.choice(_nodes(h)), _end(h)
    h.replicas.append(_at(h, end - 1, node)[0] | {"offset": end})
    h.end(node)["end_offset"] = end + 1


@brings("divergent-replicas")
def flipped_bit_in_one_replica(h: Small, rng: random.Random) -> None:
    _at(h, _acknowledged(h, rng)["offset"], rng.choice(_nodes(h)))[0]["value_crc"] ^= 1 << rng.randrange(32)


@brings("divergent-replicas")
def other_epoch_in_one_replica(h: Small, rng: random.Random) -> None:
    _at(h, _end(h) - 1, rng.choice(_nodes(h)))[0]["leader_epoch"] -= 1


@brings("divergent-replicas")
def swap_in_one_replica(h: Small, rng: random.Random) -> None:
    at = _acknowledged(h, rng)["offset"]
    _swap(h, at, at + 1, [rng.choice(_nodes(h))])


@brings("duplicate")
def duplicate_at_the_end(h: Small, rng: random.Random) -> None:
    _append(h, _at(h, _acknowledged(h, rng)["offset"])[0])


@brings("duplicate", "lost-write")
def duplicate_over_another(h: Small, rng: random.Random) -> None:
    at = _acknowledged(h, rng)["offset"]
    for node in _nodes(h):
        _at(h, at, node)[0].update({name: _at(h, at - 1, node)[0][name] for name in _CONTENT})


@brings("aborted-write")
def refused_and_yet_there(h: Small, rng: random.Random) -> None:
    refused = rng.choice([a for a in h.acks if a["result"].startswith("NOT_ENOUGH")])
    like = _at(h, _end(h) - 1)[0]
    _append(h, like | {name: refused[name] for name in ("producer", "seq", "due_ns")})


@brings("inconsistent-offsets")
def acknowledged_for_another_offset(h: Small, rng: random.Random) -> None:
    _acknowledged(h, rng)["offset"] += rng.choice((-1, 1))


@brings("inconsistent-offsets")
def swap_in_all_logs(h: Small, rng: random.Random) -> None:
    at = _acknowledged(h, rng)["offset"]
    _swap(h, at, at + 1, _nodes(h))


@brings("nonmonotonic-send")
def swap_of_one_producer(h: Small, rng: random.Random) -> None:
    first = _acknowledged(h, rng)
    mine = [a for a in h.acks if a["producer"] == first["producer"] and a["result"] == "OK"]
    then = min((a for a in mine if a["seq"] > first["seq"]), key=lambda a: a["seq"])
    _swap(h, first["offset"], then["offset"], _nodes(h))
    _exchange(first, then, "offset")


@brings("realtime-order")
def order_against_time(h: Small, rng: random.Random) -> None:
    first = _acknowledged(h, rng)
    others = [a for a in h.acks if a["producer"] != first["producer"] and a["result"] == "OK"]
    then = min((a for a in others if a["sent_ns"] > first["done_ns"]), key=lambda a: a["sent_ns"])
    _swap(h, first["offset"], then["offset"], _nodes(h))
    _exchange(first, then, "offset")


@brings("phantom")
def never_sent(h: Small, rng: random.Random) -> None:
    _append(h, _at(h, _end(h) - 1)[0] | {"seq": 1_000_000 + rng.randrange(1000)})


@brings("phantom")
def from_nowhere(h: Small, rng: random.Random) -> None:
    _append(h, _at(h, _end(h) - 1)[0] | {"producer": "", "seq": -1, "due_ns": 0})


@brings("corrupt-value")
def other_value_everywhere(h: Small, rng: random.Random) -> None:
    for r in _at(h, _acknowledged(h, rng)["offset"]):
        r["due_ns"] += rng.choice((-1, 1))


@brings("corrupt-value")
def other_checksum_everywhere(h: Small, rng: random.Random) -> None:
    """The same on all replicas, which agree on it."""
    bit = 1 << rng.randrange(32)
    for r in _at(h, _acknowledged(h, rng)["offset"]):
        r["value_crc"] ^= bit


@brings("corrupt-value", "inconsistent-offsets")
def in_another_partition(h: Small, rng: random.Random) -> None:
    for r in _at(h, _acknowledged(h, rng)["offset"]):
        r["partition"] += 1


@brings("offset-clash")
def two_at_one_offset(h: Small, rng: random.Random) -> None:
    node, at = rng.choice(_nodes(h)), _acknowledged(h, rng)["offset"]
    h.replicas.append(_at(h, at, node)[0] | {"value_crc": 7})


@brings("epoch-went-back")
def epoch_falls_in_the_logs(h: Small, rng: random.Random) -> None:
    for r in _at(h, _end(h) - 1):
        r["leader_epoch"] = 0


@brings("unknown-epoch")
def epoch_that_nobody_led(h: Small, rng: random.Random) -> None:
    for r in _at(h, _end(h) - 1):
        r["leader_epoch"] = 99


@brings("epoch-went-back")
def epoch_falls_in_the_metadata_log(h: Small, rng: random.Random) -> None:
    last = max(h.partitions, key=lambda r: r["metadata_offset"])
    h.partitions.append(
        last | {"metadata_offset": last["metadata_offset"] + 1, "leader_epoch": last["leader_epoch"] - 1}
    )


def _shrunk(h: Small, rng: random.Random, **changes: int | str) -> None:
    """A record of the metadata log that was in force for some acknowledged record, from 4 s before it on."""
    acked = _acknowledged(h, rng)
    before = [r for r in h.partitions if r["t_ns"] <= acked["sent_ns"] - 4 * _SECOND] or h.partitions[:1]
    last = max(before, key=lambda r: r["metadata_offset"])
    h.partitions = [r for r in h.partitions if r["metadata_offset"] <= last["metadata_offset"]]
    h.partitions.append(last | {"metadata_offset": last["metadata_offset"] + 1, "t_ns": last["t_ns"] + 1, **changes})


@brings("ack-under-racks")
def acknowledged_in_one_rack(h: Small, rng: random.Random) -> None:
    _shrunk(h, rng, isr="1,2", isr_racks=1)


def _stretch(h: Small, rng: random.Random, **changes: int | str) -> tuple[Row, int]:
    """Puts two and a half seconds with other in-sync replicas around some acknowledged record; and their begin."""
    acked = _acknowledged(h, rng)
    begin = acked["sent_ns"] - _SECOND
    last = max(
        (r for r in h.partitions if r["t_ns"] <= begin), key=lambda r: r["metadata_offset"], default=h.partitions[0]
    )
    h.partitions = [r for r in h.partitions if r["metadata_offset"] <= last["metadata_offset"]]
    short = last | {"metadata_offset": last["metadata_offset"] + 1, "t_ns": begin, **changes}
    good = {"isr": "1,2,3", "isr_size": 3, "isr_racks": 3, "t_ns": begin + 5 * _SECOND // 2}
    h.partitions += [short, short | good | {"metadata_offset": last["metadata_offset"] + 2}]
    return acked, begin


@brings("ack-under-racks")
def acknowledged_in_one_rack_after_a_refusal(h: Small, rng: random.Random) -> None:
    acked, begin = _stretch(h, rng, isr="1,2", isr_racks=1)
    refused = {"seq": 1_000_000, "offset": -1, "sent_ns": begin + 1, "done_ns": begin + 2, "result": "NOT_ENOUGH_RACKS"}
    producer = next(a["producer"] for a in h.acks if a["producer"].endswith("no-retry"))
    h.acks.append(acked | refused | {"producer": producer})


@brings("ack-under-racks")
def acknowledged_in_one_rack_by_a_new_leader(h: Small, rng: random.Random) -> None:
    epoch = 1 + max(r["leader_epoch"] for r in h.replicas)
    acked, _ = _stretch(h, rng, isr="1,2", isr_racks=1, leader_epoch=epoch)
    for r in h.replicas:
        if r["offset"] >= acked["offset"]:
            r["leader_epoch"] = epoch


@brings("ack-under-racks")
def acknowledged_in_one_rack_by_a_leader_that_knew(h: Small, rng: random.Random) -> None:
    """It had added a replica of the same rack."""
    _, begin = _stretch(h, rng, isr="1", isr_racks=1)
    first, last = h.partitions[-2:]
    grown = {"isr": "1,2", "isr_size": 2, "t_ns": begin + _SECOND // 2, "metadata_offset": first["metadata_offset"] + 1}
    h.partitions[-1:] = [first | grown, last | {"metadata_offset": last["metadata_offset"] + 1}]


@brings("ack-under-replicas")
def acknowledged_by_one_replica(h: Small, rng: random.Random) -> None:
    _shrunk(h, rng, isr="1", isr_size=1)


@brings("ack-not-in-ledger")
def acknowledged_below_the_promise_and_not_noted(h: Small, rng: random.Random) -> None:
    """A degrade from two racks to one, in which all but the acknowledged record in question is in the ledger."""
    _shrunk(h, rng, isr="1,2", isr_racks=1, min_racks=1)
    begin, topic = h.partitions[-1]["t_ns"], h.partitions[-1]["topic"]
    h.notes.append(("degrades", {"degrades": [{"topic": topic, "promised": 2, "begin_ns": begin, "end_ns": 1 << 62}]}))
    late = sorted(a["offset"] for a in h.acks if a["result"] == "OK" and a["sent_ns"] > begin + 3.5 * _SECOND)
    gone = rng.choice(late)
    partition = h.partitions[-1]["partition"]
    ranges = [{"topic": topic, "partition": partition, "from": 0, "to": gone}]
    ranges.append({"topic": topic, "partition": partition, "from": gone + 1, "to": None})
    h.notes.append(("ledger", {"ranges": ranges}))


@brings("nonmonotonic-poll")
def consumer_goes_back(h: Small, rng: random.Random) -> None:
    number = max(p["number"] for p in h.polls) + 1
    h.polls.append(rng.choice(h.polls[:-1]) | {"number": number})


@brings("nonmonotonic-poll")
def consumer_is_given_two_in_wrong_order(h: Small, rng: random.Random) -> None:
    one = rng.randrange(1, len(h.polls) - 1)
    _exchange(h.polls[one], h.polls[one + 1], "offset", "producer", "seq")


@brings("poll-skip")
def consumer_skips(h: Small, rng: random.Random) -> None:
    del h.polls[rng.randrange(5, len(h.polls) - 5)]


@brings("vanished-read")
def consumer_reads_what_is_gone(h: Small, rng: random.Random) -> None:
    rng.choice(h.polls)["seq"] += 1_000_000


@brings("watermark-went-back")
def watermark_of_a_new_leader_falls(h: Small, rng: random.Random) -> None:
    """Beyond where its epoch begins: what it reports by then has to hold all that was observed."""
    epoch = max(row["leader_epoch"] for row in h.replicas) + 1
    last = max(h.watermarks, key=lambda w: w["number"])
    for row in h.replicas:
        if row["offset"] >= last["high_watermark"] - 9:
            row["leader_epoch"] = epoch
    fallen = {"number": last["number"] + 1, "high_watermark": last["high_watermark"] - rng.randint(1, 9)}
    h.watermarks.append(last | fallen | {"leader_epoch": epoch})


@brings("watermark-went-back")
def watermark_falls(h: Small, rng: random.Random) -> None:
    observed = [w for w in h.watermarks if w["high_watermark"] > 20]
    number = max(w["number"] for w in h.watermarks) + 1
    h.watermarks.append(
        observed[-1] | {"number": number, "high_watermark": observed[-1]["high_watermark"] - rng.randint(1, 20)}
    )


def in_transactions(h: Small) -> list[Row]:
    """Adds four transactions of five records each, read as they ended, of a producer without records in any other
    table; returns their rows.
    """
    topic = h.partitions[-1]["topic"]
    ends = [("COMMITTED", True), ("ABORTED", False), ("UNKNOWN", True), ("UNKNOWN", False)]
    rows = []
    for number, (outcome, read) in enumerate(ends):
        first = 5 * number
        rows.append({"topic": topic, "producer": "t", "first": first, "last": first + 4, "outcome": outcome})
        for seq in range(first, first + 5) if read else ():
            h.reads.append(_read(topic, seq))
    h.notes.append(("transactions", {"transactions": rows}))
    h.producers.append({"producer": "t", "topic": topic, "transaction_records": 5, "abort_every": 2})
    return rows


def _read(topic: str, seq: int) -> Row:
    place = {"topic": topic, "partition": 1, "offset": 1000 + seq}
    return place | {"producer": "t", "seq": seq, "timestamp_ms": 1, "read_ns": 1}


@brings("committed-not-read")
def committed_record_is_not_read(h: Small, rng: random.Random) -> None:
    in_transactions(h)
    del h.reads[rng.randrange(5)]


@brings("aborted-read")
def aborted_transaction_is_read(h: Small, rng: random.Random) -> None:
    _, aborted, *_ = in_transactions(h)
    h.reads += [_read(aborted["topic"], seq) for seq in range(aborted["first"], aborted["last"] + 1)]


@brings("split-transaction")
def transaction_of_unknown_end_is_read_in_part(h: Small, rng: random.Random) -> None:
    *_, unknown = in_transactions(h)
    h.reads += [_read(unknown["topic"], unknown["first"] + at) for at in rng.sample(range(5), 2)]
