"""All rules on one history, and the verdict with the full history of each anomaly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_analysis.checker import elections, logs, reads, timeline, writes
from spark_analysis.checker.anomalies import NAMES
from spark_analysis.checker.history import PLACE, RECORD, History, faults
from spark_analysis.session import SMALL_BYTES

OK, ANOMALIES, UNKNOWN = "ok", "anomalies", "unknown"
SLOT_NS = 1_000_000  # silences are counted in ms; shorter ones are ignored
SHOWN = 20  # anomalies of one kind that are shown with their full history

_RULES = (
    writes.lost,
    writes.aborted,
    writes.moved,
    writes.duplicated,
    writes.reordered,
    writes.realtime,
    writes.phantom,
    writes.corrupt,
    logs.divergent,
    logs.clashing,
    logs.gaps,
    logs.epochs,
    timeline.under_replicas,
    timeline.epochs,
    timeline.unknown_epochs,
    reads.went_back,
    reads.skipped,
    reads.vanished,
    reads.watermarks,
    reads.below_watermark,
)


@dataclass(frozen=True)
class CheckResult:
    """The result of the checker for one run.

    `counts` are anomalies by kind, `allowed` those that a client's settings permit; `unread` names data that was not
    read back: with it and no anomaly the verdict is unknown.
    """

    run: str
    seed: int
    counts: dict[str, int]
    allowed: dict[str, int]
    totals: dict[str, int]
    unread: list[str]
    anomalies: list[dict[str, Any]]

    @property
    def lost_to_elections(self) -> str:
        """The sentence on records acknowledged with acks=min.insync.replicas; empty where there were none."""
        if not self.totals["acknowledged_by_quorum"]:
            return ""
        lost = f"{self.allowed.get('lost-to-election', 0)} of {self.totals['acknowledged_by_quorum']} records"
        return f"{lost} acknowledged with acks=min.insync.replicas were lost to elections, which level 1 allows"

    @property
    def state(self) -> str:
        """ok, anomalies or unknown."""
        return ANOMALIES if self.counts else UNKNOWN if self.unread else OK

    def plain(self) -> dict[str, Any]:
        """The verdict as JSON holds it."""
        return {"verdict": self.state, **vars(self)}


def frames(history: History, min_racks: int | None = None) -> Iterator[DataFrame]:
    """The anomalies that each rule finds, one frame a rule.

    One query a rule: a plan of all rules together takes Spark longer to make than to run.
    """
    for rule in _RULES:
        yield rule(history)
    yield timeline.under_racks(history, min_racks)
    if history.quorum_producers:
        yield elections.lost(history)


def check(history: History, min_racks: int | None = None) -> CheckResult:
    """Checks one run. `min_racks` takes the place of the topics' own min.insync.racks."""
    history = cached(history)
    counts: dict[str, int] = {}
    allowed: dict[str, int] = {}
    shown: list[dict[str, Any]] = []
    try:
        for frame in frames(history, min_racks):
            for row in frame.groupBy("anomaly", "allowed").count().collect():
                where = allowed if row["allowed"] else counts
                where[row["anomaly"]] = where.get(row["anomaly"], 0) + row["count"]
                if not row["allowed"]:
                    first = frame.where(~F.col("allowed")).orderBy("topic", "partition", "offset", "producer", "seq")
                    shown += [found.asDict() for found in first.limit(SHOWN).collect()]
        shown.sort(key=lambda found: NAMES.index(found["anomaly"]))
        sums = (totals(history), unread(history))
        return CheckResult(
            history.id, int(history.manifest["seed"]), counts, allowed, *sums, with_histories(history, shown)
        )
    finally:
        history.spark.catalog.clearCache()


def cached(history: History) -> History:
    """The same history with the tables that every rule reads cached; those of a small run as one partition each.

    A run folder has a file for each replica, and a task for each file takes longer than its few records. Tables of a
    large run are not cached as they are on disk: reading them again costs no more.
    """
    small = sum(f.stat().st_size for f in history.path.glob("*/*.parquet")) < SMALL_BYTES
    if small:
        names = ("acks", "replicas", "partitions", "polls", "watermarks")
        history = history.changed(**{name: getattr(history, name).coalesce(1).cache() for name in names})
    for name in ("spots", "places", "fates", "scattered", "steps", "turns", "begins"):
        getattr(history, name).cache()
    return history


def totals(history: History) -> dict[str, int]:
    """Numbers of records and logs checked, and the longest time without an acknowledgement, in ms."""
    ok = F.col("result") == "OK"
    refused = F.col("result").isin(*writes.REFUSED)
    quorum = F.col("producer").isin(*history.quorum_producers) if history.quorum_producers else F.lit(False)
    row = history.acks.agg(
        F.count("*").alias("sent"),
        F.count_if(ok).alias("acknowledged"),
        F.count_if(refused).alias("refused"),
        F.count_if(~ok & ~refused).alias("unknown"),
        F.count_if(ok & quorum).alias("acknowledged_by_quorum"),
    ).first()
    assert row is not None
    # Sorting all acknowledgements is not needed: a silence lies within a slot of time or between two of them.
    slot = F.col("done_ns") - F.col("done_ns") % SLOT_NS
    slots = (
        history.acks.where(ok).groupBy(slot.alias("slot")).agg(F.min("done_ns").alias("a"), F.max("done_ns").alias("b"))
    )
    between = F.col("a") - F.lag("b").over(Window.orderBy("slot"))
    gap = slots.select(between.alias("gap")).agg(F.max("gap").alias("gap")).first()
    logs_read = history.replicas.groupBy("node", *PLACE).count()
    kept = logs_read.agg(F.sum("count").alias("rows"), F.count("*").alias("logs")).first()
    assert gap is not None and kept is not None
    return row.asDict() | {
        "longest_silence_ms": int((gap["gap"] or 0) // 1_000_000),
        "replica_records": kept["rows"] or 0,
        "replica_logs": kept["logs"],
        "polled": history.polls.count(),
        "watermarks": history.watermarks.count(),
    }


def unread(history: History) -> list[str]:
    """Data that was not read back, and so not checked."""
    missing = []
    noted = {(e["name"], e["data"].get("complete", True)) for e in history.events if e["kind"] == "note"}
    if ("partitions-read", True) not in noted:
        missing.append("the metadata log: acknowledgements were not compared with the in-sync replicas")
    last = Window.partitionBy(*PLACE).orderBy(F.desc("metadata_offset"))
    wanted = history.partitions.withColumn("n", F.row_number().over(last)).where("n = 1").select(*PLACE, "replicas")
    used = history.acks.where(F.col("partition") >= 0).select(*PLACE).distinct().join(wanted, PLACE, "left")
    read = history.expected.groupBy(*PLACE).agg(F.countDistinct("node").alias("read"))
    short = used.join(read, PLACE, "left").select(
        *PLACE, F.coalesce("read", F.lit(0)).alias("read"), F.coalesce("replicas", F.lit(1)).alias("replicas")
    )
    for row in short.where(F.col("read") < F.col("replicas")).orderBy(*PLACE).collect():
        missing.append(f"{row['topic']}-{row['partition']}: {row['read']} of {row['replicas']} replicas read")
    return missing


def with_histories(history: History, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each anomaly with the history of its record and of its place in the log."""
    if not found:
        return []
    spark = history.spark
    records = [(r["producer"], r["seq"]) for r in found if r["producer"] and r["seq"] is not None]
    spots = [(r["topic"], r["partition"], r["offset"]) for r in found if r["offset"] is not None and r["topic"]]
    by_record = spark.createDataFrame(sorted(set(records)), "producer string, seq long")
    by_spot = spark.createDataFrame(sorted(set(spots)), "topic string, partition int, offset long")
    spot = [*PLACE, "offset"]

    def about(table: DataFrame) -> list[dict[str, Any]]:
        mine = table.join(F.broadcast(by_record), RECORD, "left_semi")
        there = table.join(F.broadcast(by_spot), spot, "left_semi")
        return [row.asDict() for row in mine.unionByName(there).distinct().collect()]

    acks, replicas, polls = about(history.acks), about(history.replicas), about(history.polls)
    changes = [row.asDict() for row in history.partitions.orderBy("metadata_offset").collect()]
    for r in found:
        r["history"] = _history(r, acks, replicas, polls, changes, faults(history.events))
    return found


def _history(
    anomaly: dict[str, Any],
    acks: list[dict[str, Any]],
    replicas: list[dict[str, Any]],
    polls: list[dict[str, Any]],
    changes: list[dict[str, Any]],
    events: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Events of the record and of its offset, in order of time; lines without a time come last."""
    key = (anomaly["producer"], anomaly["seq"])
    spot = (anomaly["topic"], anomaly["partition"], anomaly["offset"])

    def mine(row: dict[str, Any]) -> bool:
        return key == (row["producer"], row["seq"]) or spot == (row["topic"], row["partition"], row["offset"])

    lines: list[dict[str, Any]] = []
    for row in filter(mine, acks):
        name = f"{row['producer']} {row['seq']}"
        lines.append({"t_ns": row["sent_ns"], "what": f"{name} sent to {row['topic']}-{row['partition']}"})
        answer = f"{name}: {row['result']} {row['cause']}".rstrip() + f", offset {row['offset']}"
        lines.append({"t_ns": row["done_ns"] or None, "what": answer if row["done_ns"] else f"{name}: no answer"})
    begin = min((line["t_ns"] for line in lines if line["t_ns"]), default=0)
    here = [c for c in changes if (c["topic"], c["partition"]) == spot[:2]]
    before = [c for c in here if c["t_ns"] <= begin][-1:]
    for c in before + [c for c in here if c["t_ns"] > begin]:
        state = f"leader {c['leader']} of epoch {c['leader_epoch']}, in sync [{c['isr']}], eligible [{c['elr']}]"
        need = f"spanning {c['isr_racks']} racks where {c['min_racks']} are required"
        lines.append({"t_ns": c["t_ns"], "what": f"{c['topic']}-{c['partition']}: {state}, {need}"})
    for e in events:
        if e["t_ns"] >= begin:
            lines.append({"t_ns": e["t_ns"], "what": _event(e, spot)})
    for row in filter(mine, polls):
        what = f"{row['consumer']} received {row['producer']} {row['seq']} at offset {row['offset']}"
        lines.append({"t_ns": row["read_ns"], "what": what})
    lines.sort(key=lambda line: (line["t_ns"] is None, line["t_ns"] or 0))
    for row in sorted(filter(mine, replicas), key=lambda r: (r["topic"], r["partition"], r["offset"], r["node"])):
        where = f"{row['topic']}-{row['partition']} offset {row['offset']} of epoch {row['leader_epoch']}"
        lines.append({"t_ns": None, "what": f"at the end on {row['node']}: {where} is {row['producer']} {row['seq']}"})
    if not any(map(mine, replicas)):
        lines.append({"t_ns": None, "what": "at the end on no replica"})
    return lines


def _event(event: dict[str, Any], spot: tuple[Any, ...]) -> str:
    data = event["data"]
    text = f"{event['kind']} {event['name']} {event['state']}"
    if "logs" not in data:
        return text + "".join(f", {k} {v}" for k, v in data.items() if k != "ids")
    cut = [c for c in data["logs"] if (c["topic"], c["partition"]) == spot[:2]]
    return f"{text}, {data['node']}: " + ", ".join(f"offsets {c['flushed']} to {c['end'] - 1} lost" for c in cut)
