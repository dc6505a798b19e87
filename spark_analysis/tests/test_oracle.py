"""The ideal quorum against a slow and plain computation, on random fetches."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_analysis.tests.generated import ack, frame
from spark_analysis.transforms import oracle

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}


def made(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """40 records of two partitions led by brokers 1 and 3, and followers that fetch them in batches of any size."""
    chance = random.Random(seed)
    acks, fetches = [], []
    for partition, leader in ((0, 1), (1, 3)):
        acks += [ack(partition * 20 + i, i, 1, partition=partition, offset=i) for i in range(20)]
        for follower in (f for f in RACKS if f != leader):
            leo, at = 0, 0
            while leo < 18:
                leo, at = min(18 + follower % 3, leo + chance.randint(1, 6)), at + chance.randint(1, 50)
                row = {"mono_ns": at, "topic": "t", "partition": partition, "leader": leader, "follower": follower}
                fetches.append({**row, "leo": leo})
    return acks, fetches


def plainly(record: dict[str, Any], fetches: list[dict[str, Any]], m: int, k: int) -> tuple[int | None, int | None]:
    """max(T_(m-1), D_(k-1)), and the last of all four followers."""
    here = [f for f in fetches if f["partition"] == record["partition"] and f["leo"] > record["offset"]]
    first: dict[int, int] = {}
    for f in here:
        first[f["follower"]] = min(first.get(f["follower"], f["mono_ns"]), f["mono_ns"])
    leader = 1 if record["partition"] == 0 else 3
    racks: dict[str, int] = {}
    for broker, at in first.items():
        if RACKS[broker] != RACKS[leader]:
            racks[RACKS[broker]] = min(racks.get(RACKS[broker], at), at)
    times, spans = sorted(first.values()), sorted(racks.values())
    everyone = times[-1] if len(times) == 4 else None
    if len(times) < m - 1 or len(spans) < k - 1:
        return None, everyone
    return max([0, *times[m - 2 : m - 1]] if m > 1 else [0]) if k < 2 else max(
        times[m - 2] if m > 1 else 0, spans[k - 2]
    ), everyone


@pytest.mark.parametrize(("m", "k"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (5, 3)])
def test_a_quantile_is_the_order_statistic(spark: SparkSession, m: int, k: int) -> None:
    acks, fetches = made(seed=m * 10 + k)
    racks = spark.createDataFrame(list(RACKS.items()), "broker int, rack string")
    found = oracle.arrivals(frame(spark, "acks", acks), frame(spark, "fetches", fetches), racks)
    rows = found.withColumn("ideal", oracle.quorum_ns(F.lit(m), F.lit(k))).withColumn("all", oracle.all_ns(4)).collect()
    got = {r["seq"]: (r["ideal"], r["all"]) for r in rows}
    for record in acks:
        want = plainly(record, fetches, m, k)
        observed = got.get(record["seq"], (None, None))
        assert observed[1] == want[1]
        assert observed[0] == want[0] or record["seq"] not in got, f"record {record['seq']}"
    assert sum(ideal is not None for ideal, _ in got.values()) >= 20


def test_a_set_has_a_record_when_its_last_member_has_it(spark: SparkSession) -> None:
    acks, fetches = made(seed=7)
    racks = spark.createDataFrame(list(RACKS.items()), "broker int, rack string")
    found = oracle.arrivals(frame(spark, "acks", acks), frame(spark, "fetches", fetches), racks)
    members = F.array(*(F.lit(broker) for broker in (1, 3, 5)))  # the leader of either partition is one of them
    rows = found.withColumn("members", members).withColumn("ideal", oracle.members_ns("members")).collect()
    got = {r["seq"]: r["ideal"] for r in rows}
    known = 0
    for record in acks:
        leader = 1 if record["partition"] == 0 else 3
        times = []
        for member in {1, 3, 5} - {leader}:
            passed = [f for f in fetches if f["partition"] == record["partition"] and f["follower"] == member]
            times.append(min((f["mono_ns"] for f in passed if f["leo"] > record["offset"]), default=None))
        want = None if None in times else max(at for at in times if at is not None)
        assert got.get(record["seq"]) == want, f"record {record['seq']}"
        known += want is not None
    assert known >= 20


# What a leader waits for from a time on, and when all that it waits for holds a record that was sent at 0: broker 2 has
# it at 10, 3 at 20, and nothing is known of 4.
AWAITED: list[tuple[list[tuple[int, list[int] | None]], int | None]] = [
    ([(0, [1, 2])], 10),
    ([(0, [1, 3])], 20),
    ([(0, [1, 4])], None),  # never held by all
    ([(0, [])], 10),  # no set: any two
    ([(0, [1, 2]), (10, [1, 2, 3]), (15, [1, 3])], 20),  # too late for the set that was committed
    ([(0, [1, 2]), (11, [1, 2, 3]), (15, [1, 3])], 10),
    ([(0, [1, 2, 3]), (21, [1, 3])], 20),  # held by both sets before the proposed one is committed
    ([(0, [1, 3]), (5, [1, 2, 3]), (15, [1, 2])], 15),  # held by the new set before it was the only one
    ([(0, [1, 2]), (5, [1, 2, 4]), (30, [1, 2])], 30),
    ([(0, None)], None),
    ([(0, [1, 2]), (10, None), (15, [1, 3])], None),
    ([(0, [1, 2]), (11, None)], 10),
    ([(0, None), (1, [1, 2])], None),  # not known while it was under way
    ([], None),
]


def test_the_ideal_is_that_of_what_is_awaited_at_its_time(spark: SparkSession) -> None:
    """Each case twice: the second time another broker waits, which says nothing of the records of this leader."""
    acks, fetches, sets = [], [], []
    for number, (awaited, _) in enumerate([*AWAITED, *AWAITED]):
        times = {"due_ns": 7, "due_mono_ns": 0, "sent_ns": 7, "done_ns": 40}
        acks.append({**ack(number, 0, 1, partition=number, offset=0), **times})
        place = {"topic": "t", "partition": number, "leader": 1, "leo": 1}
        fetches += [{**place, "mono_ns": at, "follower": who} for at, who in ((10, 2), (20, 3))]
        waiting = 1 if number < len(AWAITED) else 2
        ends = [*(at for at, _ in awaited[1:]), 2**62]
        sets += [("t", number, waiting, who, at, end) for (at, who), end in zip(awaited, ends, strict=False)]
    racks = spark.createDataFrame(list(RACKS.items()), "broker int, rack string")
    acked = frame(spark, "acks", acks)
    beside = oracle.arrivals(acked, frame(spark, "fetches", fetches), racks).join(acked, on=["run", "producer", "seq"])
    beside = beside.withColumns({"m": F.lit(2), "k": F.lit(1), "with_set": F.lit(True)})
    schema = "topic string, partition int, leader int, members array<int>, from_ns long, until_ns long"
    rows = oracle.with_sets(beside, spark.createDataFrame(sets, schema)).select("seq", "set_ns").collect()
    found = dict(sorted((row["seq"], row["set_ns"]) for row in rows))
    assert list(found.values()) == [ideal for _, ideal in AWAITED] + [None] * len(AWAITED)


def test_a_record_that_followers_fetched_from_two_leaders_has_an_ideal(spark: SparkSession) -> None:
    observed = [(5, 1, 3), (7, 1, 2), (9, 2, 3), (11, 2, 1)]
    place = {"topic": "t", "partition": 0, "leo": 1}
    fetches = [{**place, "mono_ns": at, "leader": leader, "follower": who} for at, leader, who in observed]
    racks = spark.createDataFrame(list(RACKS.items()), "broker int, rack string")
    found = oracle.arrivals(frame(spark, "acks", [ack(0, 0, 1, offset=0)]), frame(spark, "fetches", fetches), racks)
    members = F.array(F.lit(2), F.lit(3))
    (row,) = found.withColumn("members", members).withColumn("ideal", oracle.members_ns("members")).collect()
    assert (row["leader"], row["followers_ns"], row["ideal"]) == (2, [5, 7, 9, 11], 5)
