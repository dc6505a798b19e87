"""Made-up histories of a producer with acks=min.insync.replicas: each with the verdict on the record that it lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from spark_analysis.tests.copies import Row, Small
from spark_analysis.tests.generated import SECOND, START

HOUR = 3600 * SECOND
LOST = 10  # sequence and offset of the record that is lost
_NODES = {1: "a1", 2: "b1", 3: "c1"}
_NOTE = {"producer": "quorum", "acks": "min.insync.replicas", "idempotence": True, "retries": 2147483647}


@dataclass
class Story:
    """Ten records of epoch 0, one more that is lost, broker 2 elected, ten records of epoch 1; to be changed.

    Times are seconds behind the story's begin: record N is acknowledged N s after it, but the lost one at `acked`.
    """

    acked: float = 20
    changes: list[tuple[float, int, int, str]] = field(
        default_factory=lambda: [(0, 1, 0, "1,2,3"), (30, 2, 1, "2,3"), (40, 2, 1, "2,3,1")]
    )  # since when, leader, leader epoch, in-sync replicas
    epoch: int = 1  # of the records behind the lost one
    behind: int = 10  # how many those are
    watermark: tuple[float, int, int] | None = None  # when, high watermark, leader epoch
    fault: tuple[float, float, str, dict[str, Any]] | None = None
    polled: bool = False
    offset: int = LOST  # that the lost record was acknowledged for
    quorum: str = "min.insync.replicas"
    min_replicas: int = 2
    again: int | None = None  # an offset at which a record that was kept is there once more

    def history(self, hour: int) -> Small:
        """Its history, which begins that many hours later than others: the events of all are in one run."""

        def at(seconds: float) -> int:
            return START + hour * HOUR + round(seconds * SECOND)

        h = Small(producers=[_NOTE | {"acks": self.quorum}])
        for number, (since, leader, epoch, isr) in enumerate(self.changes):
            size = len(isr.split(","))
            row: Row = {"metadata_offset": number, "t_ns": at(since), "leader": leader, "leader_epoch": epoch}
            row |= {"isr": isr, "isr_size": size, "isr_racks": size, "elr": "", "partition_epoch": number}
            row |= {"replicas": 3, "replica_racks": 3, "min_replicas": self.min_replicas, "min_racks": 2}
            h.partitions.append(row | _PLACE)
        for seq in range(LOST + 1 + self.behind):
            done = at(self.acked if seq == LOST else seq if seq < LOST else 60 + seq)
            offset = self.offset if seq == LOST else seq if seq < LOST else seq - 1
            sent = {"due_ns": done - SECOND, "sent_ns": done - SECOND, "due_mono_ns": done - SECOND - START}
            ack = {"producer": "quorum", "seq": seq, "offset": offset, "done_ns": done, "result": "OK", "cause": ""}
            h.acks.append(ack | sent | _PLACE)
            if seq != LOST:
                h.replicas += _copies(ack | sent, offset, 0 if seq < LOST else self.epoch)
        if self.again is not None:
            h.replicas += _copies(h.acks[LOST - 1], self.again, self.epoch)
        end = 1 + max(row["offset"] for row in h.replicas)
        h.read = [_PLACE | {"node": name, "broker": id_, "end_offset": end} for id_, name in _NODES.items()]
        if self.watermark is not None:
            t, mark, epoch = self.watermark
            h.watermarks = [
                {"observer": "o", "number": 0, "t_ns": at(t), "high_watermark": mark, "leader_epoch": epoch} | _PLACE
            ]
        if self.polled:
            read = {"consumer": "o", "number": 0, "offset": LOST, "leader_epoch": 0, "read_ns": at(self.acked + 1)}
            h.polls = [read | {"producer": "quorum", "seq": LOST} | _PLACE]
        if self.fault is not None:
            since, until, name, data = self.fault
            h.faults = [(at(since) - START, name, "begin", data), (at(until) - START, name, "end", data)]
        return h


_PLACE: Row = {"topic": "", "partition": 0}


def _copies(ack: Row, offset: int, epoch: int) -> list[Row]:
    row = {"offset": offset, "leader_epoch": epoch, "control": 0, "timestamp_ms": 0, "value_crc": 1, "batch_crc": 1}
    row |= {name: ack[name] for name in ("producer", "seq", "due_ns")}
    return [row | _PLACE | {"node": node, "broker": broker} for broker, node in _NODES.items()]


_PAUSED = ("pause leader", {"nodes": ["a1"], "ids": [1], "how": "pause"})
_UNAWARE = [(0.0, 1, 0, "1,2,3"), (30.0, 2, 1, "2,3"), (60.0, 2, 1, "2,3,1")]

ALLOWED: dict[str, Story] = {
    "elected after the acknowledgement": Story(),
    "elected a moment before the answer came": Story(acked=32),
    "the leader was paused and answered when it continued": Story(acked=38, changes=_UNAWARE, fault=(29, 36, *_PAUSED)),
    "the leader was cut off and did not hear of its successor": Story(
        acked=38, changes=_UNAWARE, fault=(29, 45, "cut a", {"rack": "a", "other": "", "one_way": False})
    ),
    "the partition had no leader in between": Story(
        changes=[(0, 1, 0, "1,2,3"), (30, -1, 1, "1,2,3"), (35, 2, 2, "2"), (40, 2, 2, "2,3,1")], epoch=2
    ),
    "the next leader wrote nothing": Story(
        changes=[(0, 1, 0, "1,2,3"), (30, 2, 1, "1,2,3"), (35, 1, 2, "1,2,3")], epoch=2
    ),
    "nothing was written behind it": Story(behind=0),
    "the third replica had just left": Story(
        changes=[(0, 1, 0, "1,2,3"), (18, 1, 0, "1,2"), (30, 2, 1, "2,3"), (40, 2, 1, "2,3,1")]
    ),
    "the high watermark was below it": Story(watermark=(25, LOST, 0)),
}

ANOMALIES: dict[str, tuple[str, Story]] = {
    "no election at all": (
        "lost-without-election",
        Story(changes=[(0, 1, 0, "1,2,3")], epoch=0),
    ),
    "the election came, and the old leader's records are behind it": ("lost-without-election", Story(epoch=0)),
    "the election was over long before": ("lost-without-election", Story(acked=38, changes=_UNAWARE)),
    "a fault that ended the leader does not keep it unaware": (
        "lost-without-election",
        Story(acked=38, changes=_UNAWARE, fault=(29, 36, "kill node", {"nodes": ["a1"], "ids": [1], "how": "kill"})),
    ),
    "the pause had ended long before": (
        "lost-without-election",
        Story(acked=55, changes=_UNAWARE, fault=(29, 36, *_PAUSED)),
    ),
    "the same broker was elected": (
        "lost-without-election",
        Story(changes=[(0, 1, 0, "1,2,3"), (30, 1, 1, "1,2,3")]),
    ),
    "a partition without a leader is no other leader": (
        "lost-without-election",
        Story(changes=[(0, 1, 0, "1,2,3"), (30, -1, 1, "1,2,3"), (35, 1, 2, "1,2,3")], epoch=2),
    ),
    "the same broker had just been elected again": (
        "lost-without-election",
        Story(changes=[(0, 1, 0, "1,2,3"), (15, -1, 1, "1,2,3"), (18, 1, 2, "1,2,3")], epoch=2),
    ),
    "nothing was written behind it, and nobody elected": (
        "lost-without-election",
        Story(changes=[(0, 1, 0, "1,2,3")], behind=0),
    ),
    "acknowledged for no offset": ("lost-without-election", Story(offset=-1)),
    "two in sync where two are needed": (
        "lost-by-minimal-isr",
        Story(changes=[(0, 1, 0, "1,2"), (30, 2, 1, "2"), (40, 2, 1, "2,3,1")]),
    ),
    "one in sync in each of the racks needed": (
        "lost-by-minimal-isr",
        Story(changes=[(0, 1, 0, "1,2"), (30, 2, 1, "2"), (40, 2, 1, "2,3,1")], min_replicas=1),
    ),
    "three in sync where three are needed": ("lost-by-minimal-isr", Story(min_replicas=3)),
    "a high watermark of its leader was beyond it": ("lost-below-watermark", Story(watermark=(25, LOST + 1, 0))),
    "the log ends below a high watermark": ("lost-below-watermark", Story(watermark=(25, LOST + 1, 0), behind=0)),
    "a consumer had read it": ("vanished-read", Story(polled=True)),
    "with acks=all no election explains it": ("lost-write", Story(quorum="all")),
    "a record that was kept is there twice": ("duplicate", Story(again=LOST + 10)),
}


def stories() -> dict[str, Small]:
    """All of them, by name."""
    made: dict[str, Story] = ALLOWED | {name: story for name, (_, story) in ANOMALIES.items()}
    return {name: story.history(hour).named(name) for hour, (name, story) in enumerate(made.items())}
