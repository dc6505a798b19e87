"""Expectations that several tests share, each with a message that shows what was observed instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from confluent_kafka import KafkaException

from harness.ducktape_support.load_service import Acks
from harness.ducktape_support.steered_service import Row
from harness.recording.log_errors import Allowed

REFUSED = "NOT_ENOUGH_RACKS"
AFTER_APPEND = "NOT_ENOUGH_RACKS_AFTER_APPEND"
FEW_REPLICAS = "NOT_ENOUGH_REPLICAS"

PROMPT_S = 15.0  # far below any time-out of a client or broker, far above what a busy machine needs

UNDER_RACKS = "kafka_server_ReplicaManager_UnderMinRackIsrPartitionCount"
AT_RACKS = "kafka_server_ReplicaManager_AtMinRackIsrPartitionCount"
RACK_FAILURES = "kafka_server_ReplicaManager_RackCheckFailureRate_total"
UNDER_REPLICAS = "kafka_server_ReplicaManager_UnderMinIsrPartitionCount"
UNDER_RACK_PARTITION = "kafka_cluster_Partition_UnderMinRackIsr"
AT_RACK_PARTITION = "kafka_cluster_Partition_AtMinRackIsr"
SPAN_PARTITION = "kafka_cluster_Partition_IsrRackCount"

REPLICAS_REFUSED = Allowed(
    r"Error processing append operation on partition ",
    "Kafka logs each append that is refused for min.insync.replicas as an error; the test requires such refusals",
)

OVERTAKEN = Allowed(
    r"Error processing append operation on partition ",
    "a batch that overtakes one to be sent again is refused, and logged so; the producer sends both again, in order",
)

NEW_REPLICA = Allowed(
    r"Expected partition \S+-\d+ with topic id \S+ to exist, but it was missing\. Creating\.\.\.",
    "Kafka logs each replica that a reassignment adds as an error",
)

LEFT_BEFORE_CONNECTED = Allowed(
    r"Had an error while disconnecting from NetworkClient",
    "several requests that a former controller refuses at once: Kafka also leaves a controller not yet connected to",
)

CHANGE_REFUSED = Allowed(
    r"ConfigAdminManager\[nodeId=\d+\]: (validation of configProps|Error preprocessing incrementalAlterConfigs)",
    "Kafka logs a refused change of the cluster default as an error; the test makes such changes",
)


def all_acknowledged(acks: Acks, records: int) -> None:
    """Every record was sent and acknowledged."""
    assert acks.counts == {("OK", ""): records}, f"wanted {records} acknowledged, observed {acks.counts}"


def all_ended_with(acks: Acks, records: int, result: str, cause: str = "") -> None:
    """Every record ended with that result and cause."""
    assert acks.counts == {(result, cause): records}, f"wanted {records} of {(result, cause)}, observed {acks.counts}"


def given_up(acks: Acks, records: int, cause: str) -> None:
    """A retrying producer gave all of them up and the application can see why.

    What it sees is a TimeoutException with that cause; an attempt that is refused just as the time ends shows the
    refusal itself instead.
    """
    counts = acks.counts
    assert set(counts) <= {("TIMEOUT", cause), (cause, "")}, f"wanted time-outs caused by {cause}, observed {counts}"
    assert len(acks) == records, f"wanted {records} records, observed {counts}"


def once_each(sent: Iterable[Acks], read: Iterable[Row]) -> None:
    """Every acknowledged record is in the log exactly once, at the place it was acknowledged for."""
    found = Counter((r["producer"], r["seq"]) for r in read)
    places = {(r["producer"], r["seq"]): (r["partition"], r["offset"]) for r in read}
    acknowledged = [r for acks in sent for r in acks.ok]
    missing = [_id(r) for r in acknowledged if found[_id(r)] == 0]
    twice = [_id(r) for r in acknowledged if found[_id(r)] > 1]
    moved = [_id(r) for r in acknowledged if found[_id(r)] == 1 and places[_id(r)] != (r["partition"], r["offset"])]
    assert not missing, f"{len(missing)} acknowledged records are lost, first {missing[:5]}"
    assert not twice, f"{len(twice)} acknowledged records are there more than once, first {twice[:5]}"
    assert not moved, f"{len(moved)} acknowledged records are elsewhere than acknowledged, first {moved[:5]}"


def lost_only_above(acks: Acks, read: Iterable[Row], certain: int) -> list[Row]:
    """Of a partition's acknowledged records only some with offsets from `certain` on may be missing; returns those.

    `certain` is a high watermark that was observed before a leader went. No record is there twice or elsewhere.
    """
    rows = list(read)
    there = {(r["producer"], r["seq"]) for r in rows}
    lost = [r for r in acks.ok if _id(r) not in there and r["offset"] >= certain]
    once_each([acks.where(lambda r: r not in lost)], rows)
    return lost


def in_order(read: Iterable[Row]) -> None:
    """Records of one producer are in each partition in the order in which they were sent."""
    last: dict[tuple[str, int], int] = {}
    for r in sorted(read, key=lambda r: (r["partition"], r["offset"])):
        where = (r["producer"], r["partition"])
        assert r["seq"] > last.get(where, -1), f"{_id(r)} at offset {r['offset']} comes after {last[where]}"
        last[where] = r["seq"]


def none_of(refused: Acks, read: Iterable[Row]) -> None:
    """None of these records is in the log."""
    there = {(r["producer"], r["seq"]) for r in read}
    kept = [_id(r) for r in refused.rows if _id(r) in there]
    assert not kept, f"{len(kept)} refused records are in the log, first {kept[:5]}"


def refusal(change: Callable[[], object]) -> str:
    """The error of a change that the cluster must refuse."""
    try:
        change()
    except KafkaException as e:
        return str(e.args[0].str())
    raise AssertionError("the change was accepted")


def _id(row: Row) -> tuple[str, int]:
    return row["producer"], row["seq"]
