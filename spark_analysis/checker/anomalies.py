"""Kinds of anomalies, named as in Jepsen's Kafka workload where it has one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of anomaly: its name, its name in Jepsen's Kafka workload or "", and its meaning."""

    name: str
    jepsen: str
    meaning: str


KINDS = (
    Kind("lost-write", "lost-write", "acknowledged, and in no replica's log after healing"),
    Kind("lost-without-election", "lost-write", "the same with acks=min.insync.replicas, and no election explains it"),
    Kind("lost-by-minimal-isr", "lost-write", "the same, and each replica then in sync must have had the record"),
    Kind("lost-to-election", "", "the same, by an election that explains it: allowed at level 1 of rackspan.version"),
    Kind("lost-below-watermark", "lost-write", "below a high watermark that was observed, and replaced or gone"),
    Kind("duplicate", "duplicate", "in the log more than once although its producer is idempotent"),
    Kind("aborted-write", "g1a", "refused with a non-retriable outcome in its only attempt, and yet in the log"),
    Kind("inconsistent-offsets", "inconsistent-offsets", "acknowledged for another offset or partition than it is at"),
    Kind("divergent-replicas", "inconsistent-offsets", "an offset at which replicas differ, or that some lack"),
    Kind("nonmonotonic-send", "nonmonotonic-send", "behind a later record of the same producer and partition"),
    Kind("realtime-order", "", "sent after another was acknowledged, and yet before it in the log"),
    Kind("phantom", "", "in the log, but never sent by a client of the run"),
    Kind("corrupt-value", "", "in the log with another value than the one sent"),
    Kind("offset-clash", "inconsistent-offsets", "one replica has two records of the same offset"),
    Kind("offset-gap", "", "one replica lacks an offset between two that it has"),
    Kind("epoch-went-back", "", "a leader epoch smaller than one before it, in a log or in the metadata log"),
    Kind("unknown-epoch", "", "a record of a leader epoch that the metadata log does not have"),
    Kind("ack-under-racks", "", "sent and acknowledged while the in-sync replicas spanned too few racks"),
    Kind("ack-under-replicas", "", "sent and acknowledged while there were too few in-sync replicas"),
    Kind("ack-not-in-ledger", "", "the same by what was promised before a degrade, and in no range of the ledger"),
    Kind("watermark-went-back", "", "a high watermark smaller than one observed before at the same or an older epoch"),
    Kind("nonmonotonic-poll", "nonmonotonic-poll", "a consumer received an offset again, or an older one"),
    Kind("poll-skip", "poll-skip", "a consumer skipped a record that is in the log"),
    Kind("committed-not-read", "lost-write", "of a committed transaction, and not read with read_committed at the end"),
    Kind("aborted-read", "g1a", "of an aborted transaction, and read with read_committed at the end"),
    Kind("split-transaction", "", "some records of one transaction are read with read_committed, and others are not"),
    Kind("vanished-read", "lost-write", "a consumer received a record that the log does not have at that offset"),
)
NAMES = tuple(kind.name for kind in KINDS)
