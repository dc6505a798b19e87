"""Records acknowledged with acks=min.insync.replicas and lost: what level 1 of rackspan.version allows, and what not.

The acknowledgement says that min.insync.replicas in-sync replicas in min.insync.racks racks have the record, its leader
among them. Another in-sync replica may lack it, and may be elected; the others then cut their logs back to its own.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_analysis.checker.anomalies import anomaly
from spark_analysis.checker.history import PLACE, RECORD, History
from spark_analysis.checker.timeline import SLACK_NS, stretches

# A leader that is paused or cut off does not hear of its successor, and its answers are under way, until some time
# after the fault: what was not delivered is sent again after pauses that grow with the outage.
AFTER_FAULT_NS = 10_000_000_000
_CUT_OFF = ("cut", "disconnected", "staggered_cut", "slowed", "delay")


def lost(history: History) -> DataFrame:
    """Acknowledged by a quorum and in no log: allowed if an election explains it that could elect one without it.

    It does if the log has, where the record was, one of a later epoch than that of the leader which acknowledged it,
    and another broker has been elected in between; and if the in-sync replicas then were more than must have had it.
    """
    gone = history.fates.where((F.col("result") == "OK") & F.col("at").isNull() & F.col("quorum"))
    gone = gone.select(*RECORD, *PLACE, "offset", "done_ns", _since(history.events).alias("since"))
    gone = gone.join(F.broadcast(_logs(history)), PLACE, "left").join(F.broadcast(_terms(history)), PLACE, "left")
    led = F.filter("terms", lambda term: term.leader >= 0)
    before = F.filter(led, lambda term: term.t_ns <= F.col("since"))
    gone = gone.withColumns(
        {
            "answered": F.coalesce(F.try_element_at(before, F.lit(-1)), F.try_element_at(led, F.lit(1))),
            "then": F.when(F.col("offset") < F.col("end"), _epoch_at("begins", F.col("offset"))).otherwise(
                F.array_max(F.transform("terms", lambda term: term.leader_epoch))
            ),
        }
    )
    elected = F.exists(
        "terms",
        lambda term: (
            (term.leader >= 0)
            & (term.leader != F.col("answered.leader"))
            & (term.leader_epoch > F.col("answered.leader_epoch"))
            & (term.leader_epoch <= F.col("then"))
        ),
    )
    spare = F.exists(
        "terms",
        lambda term: term.spare & (term.t_ns <= F.col("done_ns") + SLACK_NS) & (term.until_ns >= F.col("since")),
    )
    explained = F.coalesce(elected, F.lit(False))
    name = (
        F.when(~explained, F.lit("lost-without-election"))
        .when(~F.coalesce(spare, F.lit(False)), F.lit("lost-by-minimal-isr"))
        .otherwise(F.lit("lost-to-election"))
    )
    detail = (F.col("offset"), " not before epoch ", F.coalesce("answered.leader_epoch", F.lit(-1)))
    after = (", the log has epoch ", F.coalesce("then", F.lit(-1)), " there")
    return anomaly(gone, name, "acknowledged for offset ", *detail, *after, allowed=name == F.lit("lost-to-election"))


def _since(events: list[dict[str, Any]]) -> Column:
    """The earliest time at which the leader that acknowledged a record may last have been up to date."""
    done = F.col("done_ns")
    stale = [F.when(done.between(b, e + AFTER_FAULT_NS), F.lit(b - SLACK_NS)) for b, e in cut_off(events)]
    return F.least(done, done - SLACK_NS, *stale)


def cut_off(events: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Begin and end of the faults that keep a leader from hearing of its successor and do not end it."""
    begun: dict[str, int] = {}
    found = []
    for event in (e for e in events if e["kind"] == "fault"):
        name, state = event["name"], event["state"]
        if event["data"].get("how") != "pause" and name.partition(" ")[0] not in _CUT_OFF:
            continue
        if state == "begin":
            begun[name] = event["t_ns"]
        elif state == "end" and name in begun:
            found.append((begun.pop(name), event["t_ns"]))
    return found + [(at, (1 << 62)) for at in begun.values()]


def _logs(history: History) -> DataFrame:
    """The epochs of each partition's final log with where they begin, and its end."""
    epochs = F.collect_list(F.struct("begin", "leader_epoch")).alias("begins")
    return history.begins.groupBy(*PLACE).agg(epochs, F.max("end").alias("end"))


def _epoch_at(begins: str, offset: Column) -> Column:
    return F.array_max(
        F.transform(F.filter(begins, lambda epoch: epoch.begin <= offset), lambda epoch: epoch.leader_epoch)
    )


def _terms(history: History) -> DataFrame:
    """The states of each partition in order; `spare` if fewer than its in-sync replicas may acknowledge."""
    one_a_rack = (F.col("isr_racks") == F.col("isr_size")) & (F.col("isr_racks") <= F.col("need_racks"))
    spare = ((F.col("isr_size") > F.col("need_replicas")) & ~one_a_rack).alias("spare")
    state = F.struct("metadata_offset", "t_ns", "until_ns", "leader", "leader_epoch", spare)
    return stretches(history).groupBy(*PLACE).agg(F.sort_array(F.collect_list(state)).alias("terms"))
