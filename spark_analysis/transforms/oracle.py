"""The ideal quorum: when the leader of each record knew from fetches that enough followers in enough racks had it.

With m replicas and k racks needed, the leader counting in both, that is max(T_(m-1), D_(k-1)): the (m-1)-th follower,
and the (k-1)-th rack other than the leader's, each by its first follower. Waiting for all is the last follower, waiting
for an electable set the last of its members.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.statistics.ideal import AFTER, FROM_SEND, IDEAL
from spark_analysis.transforms.benchmark import bucket
from spark_analysis.transforms.clock import mono

_RECORD = ["run", "producer", "seq"]
_PLACE = ["run", "topic", "partition"]
# An answer that comes so much before its ideal still counts as early.
_LATER_NS = 100_000_000


def arrivals(acked: DataFrame, fetches: DataFrame, racks: DataFrame) -> DataFrame:
    """One row per record: followers_ns (when each follower's fetch showed that it holds the record, earliest first),
    racks_ns (the same for each rack other than the leader's, by its first follower), leader, and fetched (an array of
    follower and known_ns).

    ``acked`` has topic, partition and offset; ``racks`` broker and rack. A follower whose fetches never
    passed a record has no entry.
    """
    fetched = fetches.select(*_PLACE, "leader", "follower", F.col("leo").alias("upto"), F.col("mono_ns").alias("at_ns"))
    pairs = fetches.select(*_PLACE, "leader", "follower").distinct()
    requested = (
        acked.select(*_RECORD, "topic", "partition", (F.col("offset") + 1).alias("upto"))
        .join(F.broadcast(pairs), on=_PLACE, how="inner")
        .withColumn("at_ns", F.lit(None).cast("long"))
    )
    # A follower holds a record from its first fetch of an offset beyond it: the earliest time of all such fetches.
    order = (
        Window.partitionBy(*_PLACE, "leader", "follower")
        .orderBy(F.desc("upto"))
        .rangeBetween(Window.unboundedPreceding, Window.currentRow)
    )
    rack_of = {
        who: F.broadcast(racks.select(F.col("broker").alias(who), F.col("rack").alias(f"{who}_rack")))
        for who in ("leader", "follower")
    }
    found = (
        requested.unionByName(fetched, allowMissingColumns=True)
        .withColumn("known_ns", F.min("at_ns").over(order))
        .where(F.col("seq").isNotNull() & F.col("known_ns").isNotNull())
        .join(rack_of["leader"], on="leader", how="inner")
        .join(rack_of["follower"], on="follower", how="inner")
    )
    elsewhere = F.when(F.col("follower_rack") != F.col("leader_rack"), F.col("first_ns"))
    return (
        found.groupBy(*_RECORD, "leader_rack", "follower_rack")
        .agg(
            F.min("known_ns").alias("first_ns"),
            F.max("leader").alias("leader"),
            F.collect_list(F.struct("follower", "known_ns")).alias("each"),
        )
        .groupBy(*_RECORD)
        .agg(
            F.max("leader").alias("leader"),
            F.flatten(F.collect_list("each")).alias("fetched"),
            F.sort_array(F.collect_list(elsewhere)).alias("racks_ns"),
        )
        .select(*_RECORD, "leader", F.sort_array("fetched.known_ns").alias("followers_ns"), "racks_ns", "fetched")
    )


def quorum_ns(replicas: Column, racks: Column) -> Column:
    """When ``replicas`` replicas in ``racks`` racks, the leader among them, had the record; null if that was never
    observed.
    """
    enough, spanning = _nth("followers_ns", replicas - 1), _nth("racks_ns", racks - 1)
    return F.when(enough.isNotNull() & spanning.isNotNull(), F.greatest(enough, spanning))


def all_ns(followers: int) -> Column:
    """When every one of that many followers had the record; null if that was never observed."""
    return F.when(F.size("followers_ns") == followers, F.array_max("followers_ns"))


def members_ns(members: str) -> Column:
    """When every member of the set in that column had the record; null if that was never observed."""
    others = F.filter(members, lambda member: member != F.col("leader"))
    times = F.transform(others, _first_of)
    return F.when(~F.exists(times, lambda at: at.isNull()), F.coalesce(F.array_max(times), F.lit(0).cast("long")))


def _first_of(follower: Column) -> Column:
    """When a follower first had the record, by any leader; null if that was never observed."""
    return F.array_min(F.filter("fetched", lambda fetch: fetch.follower == follower).known_ns)


def _nth(times: str, number: Column) -> Column:
    """The entry at a position from 1 on; 0 for position 0, since the leader itself has the record first."""
    return F.when(number <= 0, F.lit(0).cast("long")).otherwise(F.get(F.col(times), number - 1))


def with_sets(beside: DataFrame, awaited: DataFrame) -> DataFrame:
    """Records with ``set_ns``: when all that was waited for at that time had the record; null if that is not known.

    ``beside`` as for `counted`; ``awaited`` has topic, partition, leader, members (empty: whoever suffices, null: not
    known), from_ns and until_ns, monotonic, which follow each other without a gap in every partition.
    """
    sets = F.broadcast(awaited.withColumnRenamed("leader", "waiting")).alias("sets")
    here = [F.col(f"sets.{name}") == beside[name] for name in ("topic", "partition")]
    open_then = (F.col("until_ns") > mono("sent_ns")) & (F.col("from_ns") < mono("done_ns") + _LATER_NS)
    held = F.when(F.size("members") > 0, members_ns("members")).otherwise(quorum_ns(F.col("m"), F.col("k")))
    at = F.when(held.isNotNull(), F.greatest(held, F.col("from_ns")))
    is_known = F.col("members").isNotNull() & (F.col("waiting") == F.col("leader"))
    # One pass over the records: a second look at them for a join would compute all their arrivals again.
    found = (
        beside.join(sets, on=[beside["with_set"], *here, open_then], how="left")
        .groupBy(*(beside[name] for name in _RECORD))
        .agg(
            F.first(F.struct(*(beside[name] for name in beside.columns))).alias("record"),
            F.min(F.when(is_known & (at < F.col("until_ns")), at)).alias("at_ns"),
            F.min(F.when(~is_known, F.col("from_ns"))).alias("unknown_ns"),
        )
    )
    certain = F.coalesce(F.col("at_ns") < F.col("unknown_ns"), F.lit(True))
    return found.select("record.*", F.when(certain, F.col("at_ns")).alias("set_ns"))


def counted(beside: DataFrame, followers: int, *, exact: bool) -> DataFrame:
    """Counts of records by block, part, measure and value (µs, rounded down; not ``exact``: a bucket): block, part,
    measure, value, records. Records whose ideal was never observed are skipped.

    ``beside`` are acknowledged records with what `arrivals` says of them, and m and k: replicas and racks that an
    answer waits for, m = 0 for all ``followers``; ``with_set`` where a set is waited for in place of them, and
    ``set_ns`` of `with_sets`.
    """
    anyone = F.when(F.col("m") > 0, quorum_ns(F.col("m"), F.col("k"))).otherwise(all_ns(followers))
    ideal = F.when(F.col("with_set"), F.col("set_ns")).otherwise(anyone)
    measured = (
        beside.withColumn("ideal_ns", ideal - mono("sent_ns"))
        .where(F.col("ideal_ns").isNotNull())
        .withColumn(IDEAL, F.floor(F.col("ideal_ns") / 1000))
        .withColumn(FROM_SEND, F.floor((F.col("done_ns") - F.col("sent_ns")) / 1000))
        .withColumn(AFTER, F.floor((F.col("done_ns") - F.col("sent_ns") - F.col("ideal_ns")) / 1000))
        .select("block", "part", IDEAL, FROM_SEND, AFTER)
    )
    value = F.col("us").cast("double") if exact else bucket(F.col("us"))
    return (
        measured.unpivot(["block", "part"], [IDEAL, FROM_SEND, AFTER], "measure", "us")
        .withColumn("value", value)
        .groupBy("block", "part", "measure", "value")
        .agg(F.count("*").alias("records"))
        .select("block", "part", "measure", "value", "records")
    )
