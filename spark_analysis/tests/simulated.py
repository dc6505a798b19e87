"""Clean histories made up from a seed: whatever a healthy cluster may do, and nothing that it may not."""

from __future__ import annotations

import random
from typing import Any

from spark_analysis.tests.copies import Row, Small, crc
from spark_analysis.tests.generated import MS, START

SIZE = 60  # bytes of a value
_NODES = {1: "a1", 2: "b1", 3: "c1"}
_NOTES = (
    {"producer": "patient", "acks": "all", "idempotence": True, "retries": 2147483647, "size": SIZE},
    {"producer": "no-retry", "acks": "all", "idempotence": False, "retries": 0, "size": SIZE},
    {"producer": "quorum", "acks": "min.insync.replicas", "idempotence": True, "retries": 2147483647, "size": SIZE},
    {"producer": "leader-only", "acks": "1", "idempotence": False, "retries": 2147483647, "size": SIZE},
)


class _World:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = START
        self.history = Small(producers=[dict(note) for note in _NOTES])
        self.log: list[Row] = []
        self.waiting: list[Row] = []  # of the producers that retry, while writes are refused
        self.given_up: list[Row] = []  # sent on a connection that is closed and not yet read to its end
        self.seqs = {str(note["producer"]): 0 for note in _NOTES}
        self.isr, self.leader, self.epoch, self.ended = [1, 2, 3], 1, 0, 0  # ended: where the last epoch did
        self.committed = 0  # every in-sync replica has what is below
        self.change()

    def change(self) -> None:
        """Writes the present state into the metadata log."""
        h = self.history
        state: dict[str, Any] = {"leader": self.leader, "leader_epoch": self.epoch, "elr": "", "replicas": 3}
        state |= {"isr": ",".join(map(str, self.isr)), "isr_size": len(self.isr), "isr_racks": len(self.isr)}
        state |= {"replica_racks": 3, "min_replicas": 2, "min_racks": 2, "partition_epoch": len(h.partitions)}
        row = state | {"metadata_offset": 10 * len(h.partitions), "t_ns": self.now, "topic": "", "partition": 0}
        h.partitions.append(row)

    def fault(self) -> None:
        """In-sync replicas leave or come back, or another leads."""
        kind = self.rng.choice(("shrink", "starve", "restore", "lead"))
        if kind == "lead" and len(self.isr) > 1:
            before, self.leader = self.leader, self.rng.choice(self.isr)
            if self.leader != before:
                del self.log[self.committed :]
            self.epoch, self.ended = self.epoch + 1, len(self.log)
        elif kind in ("shrink", "starve"):
            self.isr = [self.leader, *(i for i in self.isr if i != self.leader)][: 2 if kind == "shrink" else 1]
        elif kind == "restore":
            self.isr = [1, 2, 3]
        self.committed = len(self.log)
        self.change()
        if len(self.isr) > 1:
            for ack in self.waiting:
                self.append(ack)
                self.answer(ack, "OK")
            self.waiting = []

    def send(self, producer: str) -> None:
        """One record, and what becomes of it."""
        due = self.now
        ack = {
            "producer": producer,
            "seq": self.seqs[producer],
            "topic": "",
            "partition": 0,
            "offset": -1,
            "due_ns": due,
            "sent_ns": due + self.rng.randrange(MS),
            "done_ns": 0,
            "due_mono_ns": due - START,
            "result": "",
            "cause": "",
        }
        self.seqs[producer] += 1
        self.history.acks.append(ack)
        luck = self.rng.random()
        if producer == "leader-only":
            if luck > 0.1:  # else acknowledged, and lost with its leader
                self.append(ack)
                if luck > 0.9:
                    self.append(ack)  # sent again after an error
            self.answer(ack, "OK")
        elif len(self.isr) < 2:
            if producer in ("patient", "quorum"):
                self.waiting.append(ack)
            else:
                self.answer(ack, "NOT_ENOUGH_RACKS")
        elif luck < 0.05:
            self.answer(ack, "TIMEOUT")
            if producer == "no-retry":
                self.given_up.append(ack)
        elif luck < 0.1:
            self.append(ack)
            self.answer(ack, "TIMEOUT")
        elif luck < 0.12:
            self.append(ack)  # its client was killed before the answer came
        else:
            self.append(ack)
            self.answer(ack, "OK")

    def read_on(self) -> None:
        """The leader reads what its client gave up on, after what that client sent since."""
        for ack in self.given_up:
            self.append(ack)
            ack["offset"] = -1
        self.given_up = []

    def append(self, ack: Row) -> None:
        at = {"offset": len(self.log), "leader_epoch": self.epoch, "control": 0, "topic": "", "partition": 0}
        at |= {"timestamp_ms": self.now // MS, "value_crc": crc(ack, SIZE), "batch_crc": self.rng.randrange(1 << 32)}
        self.log.append(at | {name: ack[name] for name in ("producer", "seq", "due_ns")})
        ack["offset"] = at["offset"]
        if ack["producer"] != "quorum" or len(self.isr) < 3:
            self.committed = len(self.log)

    def answer(self, ack: Row, result: str) -> None:
        """Up to 0.3 s later: by then the in-sync replicas may be fewer."""
        ack["result"] = result
        ack["done_ns"] = max(self.now, ack["sent_ns"]) + self.rng.randrange(1, 300 * MS)
        ack["offset"] = ack["offset"] if result == "OK" else -1

    def observe(self) -> None:
        """A sample of the high watermark; sometimes of a leader that has not heard of its successor, or of one that is
        new and reports what it knew as a follower.
        """
        stale, self.committed = self.epoch > 0 and self.rng.random() < 0.2, len(self.log)
        mark = {"observer": "o", "number": len(self.history.watermarks), "t_ns": self.now, "topic": "", "partition": 0}
        mark |= {"high_watermark": self.ended if stale else len(self.log)}
        fresh = all(m["leader_epoch"] < self.epoch for m in self.history.watermarks)
        if fresh and 0 < self.ended < len(self.log) and self.rng.random() < 0.5:
            mark["high_watermark"], stale = self.ended - 1, False
        self.history.watermarks.append(mark | {"leader_epoch": self.epoch - stale})


def simulated(seed: int, steps: int = 60) -> Small:
    """One clean history."""
    world = _World(seed)
    for _ in range(steps):
        world.now += world.rng.randrange(20, 400) * MS
        if world.rng.random() < 0.15:
            world.fault()
        world.send(world.rng.choice(list(world.seqs)))
        if world.given_up and world.rng.random() < 0.3:
            world.read_on()
        if world.rng.random() < 0.2:
            world.observe()
    world.isr, world.now = [1, 2, 3], world.now + 400 * MS
    world.fault()
    h = world.history
    h.replicas = [row | {"node": name, "broker": broker} for broker, name in _NODES.items() for row in world.log]
    h.read = [
        {"topic": "", "partition": 0, "node": name, "broker": broker, "end_offset": len(world.log)}
        for broker, name in _NODES.items()
    ]
    names = ("topic", "partition", "offset", "leader_epoch", "producer", "seq")
    h.polls = [
        {"consumer": "o", "number": number, "read_ns": world.now, **{name: row[name] for name in names}}
        for number, row in enumerate(world.log)
    ]
    return h
