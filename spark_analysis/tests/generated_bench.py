"""Benchmark run folders made by hand, whose ratios, silences and ideal times are known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_analysis.input import ingest
from spark_analysis.report.benchmark import from_records, page_section
from spark_analysis.report.section import Section
from spark_analysis.tests import plain_counts
from spark_analysis.tests.generated import MS, SECOND, START, ack, event, folder

LEADER, NEAR, FAR = 1, 2, 3
RACKS = {"1": "a", "2": "b", "3": "c"}
# Latency in units of a tenth of a millisecond: the followers' answers, and what is added on the way back.
NEAR_NS, FAR_NS, BACK_NS = 1000 * 1000, 3000 * 1000, 100 * 1000
MODES = [
    {"name": "minisr", "role": "candidate", "acks": "min.insync.replicas", "label": "acks=min.insync.replicas"},
    {"name": "all", "role": "baseline", "acks": "all", "label": "acks=all"},
    {"name": "again", "role": "control", "acks": "all", "label": "acks=all once more"},
    {"name": "one", "role": "least", "acks": "1", "label": "acks=1"},
]
# What a paused follower is compared with: the same processor time is free, and no record waits for that follower.
UNAFFECTED = {"name": "calm", "role": "unaffected", "acks": "min.insync.replicas", "label": "no replica there"}


def spec(
    fault: dict[str, Any] | None = None, rtt_ms: dict[str, float] | None = None, modes: list[dict[str, Any]] = MODES
) -> dict[str, Any]:
    """The manifest's spec of a benchmark run."""
    modes = [{"distribution": "rackspan", "topic": {}, **m} for m in modes]
    return {
        "workload": {
            "name": "made",
            "about": "Made by hand.",
            "topic": {
                "partitions": 1,
                "replication": 3,
                "leaders": ["a"],
                "settings": {"min.insync.replicas": "2", "min.insync.racks": "2"},
            },
            "load": {"rate": 100.0, "size": 200},
            "modes": modes,
            "fault": fault,
            "limits": {"send_lag_p99_ms": 10.0, "cpu_busy": 0.9, "steal": 0.05, "rtt_off": 0.1},
        },
        "broker_racks": RACKS,
        "rtt_ms": rtt_ms or {},
        "backend": "netns" if rtt_ms else "local",
    }


def bench_run(
    path: Path,
    *,
    rounds: int = 6,
    per_block: int = 250,
    fault: dict[str, Any] | None = None,
    rtt_ms: dict[str, float] | None = None,
    invalid: Mapping[tuple[int, str], list[str] | None] | None = None,
    late: tuple[int, str] | None = None,
    refuses: Mapping[str, float] | None = None,
    silent: tuple[str, set[int]] = ("", set()),
    overwrites: str = "",
    saturated: tuple[str, set[int]] = ("", set()),
    plan: dict[str, Any] | None = None,
    unaffected: bool = False,
    of_modes: Mapping[str, dict[str, Any]] | None = None,
    cpu_s: Mapping[str, float] | None = None,
) -> Path:
    """Rounds of all modes, 100 records a second.

    Every record has a fetch of each follower by itself: rack b's after 1 ms (1 to 1.25 within a block), rack c's
    after three times that; an answer takes 0.1 ms more. acks=1 is answered after 0.1 ms. With a `pause` fault rack
    c's follower hangs for the part 'fault': acks=all is answered 50 ms after its end, the others as before. With a
    `kill` fault acks=all has no answer for the first half of the part, then as acks=min.insync.replicas. `invalid` are
    the reasons in the end event of the last part of (block, role), `late` is the (block, role) whose client lags
    by 20 ms. ``refuses`` is the share of a role's records that are refused; the role of ``silent`` has no answer in
    the last part of these rounds; the last record of the role ``overwrites`` has the place of the one before. The role
    of ``saturated`` saturated the machine in these rounds. ``plan`` is what differs in the plan, which else names as
    many rounds as there are. ``unaffected`` adds a mode without a replica on the broken broker. ``of_modes``:
    what differs in the mode of a role. ``cpu_s``: processor time of the brokers in each block of a mode, by its name;
    a thousandth more in each round.
    """
    acks: list[dict[str, Any]] = []
    fetches: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    every = [*MODES, *([UNAFFECTED] if unaffected else [])]
    modes = [m | (of_modes or {}).get(str(m["role"]), {}) for m in every]
    seq = {str(m["name"]): 0 for m in modes}
    parts = ("quiet", "fault") if fault else ("quiet",)
    at, number = 0, 0
    for pair in range(rounds):
        for mode in modes if pair % 2 == 0 else modes[::-1]:
            name, role = str(mode["name"]), str(mode["role"])
            for part in parts:
                data = {
                    "block": number,
                    "pair": pair,
                    "mode": mode["label"],
                    "role": role,
                    "producer": name,
                    "part": part,
                }
                begin, end = at, at + per_block * 10 * MS
                events.append(event(begin, "phase", "block", "begin", **data))
                for i in range(per_block):
                    due = begin + i * 10 * MS
                    lag = 20 * MS if (number, role) == late else 0
                    near = NEAR_NS * (1000 + i % 250) // 1000
                    _record(acks, fetches, name, seq[name], due, lag, near, _waits(role, fault, part, due, begin, end))
                    no_answer = role == silent[0] and pair in silent[1] and part == parts[-1]
                    if no_answer or 7919 * i % 1000 < 1000 * (refuses or {}).get(role, 0):
                        acks[-1] |= {"result": "TIMEOUT", "cause": "NOT_ENOUGH_RACKS", "offset": -1}
                    seq[name] += 1
                ended: dict[str, Any] = {
                    **data,
                    "cpu_busy": 0.4,
                    "steal": 0.0,
                    "invalid": (invalid or {}).get((number, role), []) if part == parts[-1] else [],
                    "saturated": "its own brokers" if role == saturated[0] and pair in saturated[1] else "",
                    **({"isr": 3} if part == "fault" else {}),
                    **_cost(acks[-per_block:], (cpu_s or {}).get(name), pair),
                }
                events.append(event(end, "phase", "block", "end", **ended))
                at = end + (SECOND if part == "fault" else 0)
            number += 1
            at += SECOND
    if overwrites:
        mine = [row for row in acks if row["producer"] == next(m["name"] for m in MODES if m["role"] == overwrites)]
        mine[-1]["offset"] = mine[-2]["offset"]
    planned = {"rounds": rounds, "spare": 4, "modes": modes, **(plan or {})}
    tables: dict[str, Any] = {"acks": acks, "fetches": fetches, "events": events, "plan": planned}
    return folder(path, **tables, kind="bench", spec=spec(fault, rtt_ms, modes), seed=11, name="made")


def measured(path: Path, **made: Any) -> dict[str, Any]:
    """A benchmark's part of the document, of the run that `bench_run` makes of the same arguments, counted without
    Spark.
    """
    return plain_counts.section(bench_run(path, **made))


def section_of(spark: SparkSession, path: Path) -> Section:
    """A benchmark's part of the document, and the tables behind it."""
    run = ingest.read_run(spark, path)
    return page_section.section(from_records.raw_of(spark, run, run.manifest))


def _cost(sent: list[dict[str, Any]], cpu_s: float | None, pair: int) -> dict[str, Any]:
    if cpu_s is None:
        return {}
    return {"brokers_cpu_s": cpu_s * (1 + pair / 1000), "acked": sum(row["result"] == "OK" for row in sent)}


def _waits(role: str, fault: dict[str, Any] | None, part: str, due: int, begin: int, end: int) -> str | int:
    """The moment or follower (near, far, nothing) that an answer waits for."""
    if role == "least":
        return "nothing"
    if role in ("candidate", "unaffected"):
        return "near"
    if part == "fault" and fault is not None:
        if fault["how"] == "pause":
            return end + 50 * MS
        middle = (begin + end) // 2
        return middle if due < middle else "near"
    return "far"


def _record(
    acks: list[dict[str, Any]],
    fetches: list[dict[str, Any]],
    name: str,
    seq: int,
    due: int,
    lag: int,
    near: int,
    waits: str | int,
) -> None:
    sent, far = due + lag, 3 * near
    took_by = {"nothing": 0, "near": near, "far": far}
    done = waits if isinstance(waits, int) else sent + took_by[waits] + BACK_NS
    acks.append(ack(seq, due, done - due, producer=name, topic=name, sent_ns=START + sent, due_mono_ns=due, offset=seq))
    for follower, took in ((NEAR, near), (FAR, far)):
        fetches.append(
            {
                "mono_ns": sent + took,
                "topic": name,
                "partition": 0,
                "leader": LEADER,
                "follower": follower,
                "leo": seq + 1,
            }
        )
