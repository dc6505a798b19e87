"""Longest silence of a writer while a member of the electable set hangs, beside acks=all (design 3.7, goal P7).

    python -m harness.benchmark.member_hang [--trials 12] [--json FILE]

Three racks of one broker at level 2 of rackspan.version; one topic is written with acks=min.insync.replicas and one
with acks=all, both led by broker 1. In each trial the follower that is in the electable set is paused for some seconds,
stays in the in-sync set, and continues; a silence is the time without an acknowledgement from the pause on. For
acks=all it lasts as long as the pause, which is what it would do until replica.lag.time.max.ms. A trial does not count
if the set was changed after it had been read and before the pause. Prints a table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from harness.admin.topics import Topics
from harness.benchmark.load_clients import priority
from harness.benchmark.printed_table import print_table
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common import markdown
from harness.common.process_tree import end_on_signals
from harness.common.wait import Pending, pause, wait_for
from harness.load.client import LoadClient
from harness.load.command import Produce, java_command, load_jar
from harness.load.process import LoadProcess
from harness.load.records import read_acks
from harness.recording.electable_sets import changes
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.rackspan_level import at_level

GOAL_MS = 250.0
ENOUGH = 12  # trials; of fewer the goal is neither met nor missed
MODES = {"min.insync.replicas": "quorum", "all": "all"}  # acks, and the topic of each
QUORUM = "min.insync.replicas"
LEADER = 1
RESOLUTION_NS = 1_000_000  # of the metadata log's times, which are rounded down
PAUSE_S, REST_S, WARM_UP_S = 3.0, 4.0, 20.0
UNDER_WAY_S = 0.5  # a pause lasts longer by this: what was under way when it began may still be answered
RATE = 200.0
# A paused broker stays registered and in sync for longer than any pause.
LASTING = {"broker.session.timeout.ms": 240000, "replica.lag.time.max.ms": 240000}


@dataclass(frozen=True)
class Trial:
    """One pause: the paused broker, the set before, and when that was read and it began and ended, in ns."""

    member: int
    before: tuple[int, ...]
    read_ns: int
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class Silence:
    """The longest silence of a mode in one trial, in milliseconds; at least that, if it is as long as the pause."""

    acks: str
    trial: int
    ms: float


@dataclass(frozen=True)
class Swap:
    """One change of the set in ms: from the pause until the controller has written the new set, which is when the hang
    was detected and a millisecond or two, and from then until the next acknowledgement.
    """

    trial: int
    detection_ms: float
    swap_ms: float


def counts(trial: Trial, changes_ns: Iterable[int]) -> bool:
    """True if the paused broker was of the set when it was paused, by the times of changes of the metadata log."""
    return not any(trial.read_ns - RESOLUTION_NS <= at <= trial.begin_ns for at in changes_ns)


def changed_at(trial: Trial, changes_ns: Iterable[int]) -> int | None:
    """The time of the first change of the set in a pause; None without one."""
    return min((at for at in changes_ns if trial.begin_ns < at < trial.end_ns), default=None)


def swap(number: int, trial: Trial, change_ns: int, done_ns: Iterable[int]) -> Swap:
    """A change of the set; an acknowledgement that does not come in the pause comes at its end."""
    answered = min((done for done in done_ns if change_ns <= done < trial.end_ns), default=trial.end_ns)
    return Swap(number, (change_ns - trial.begin_ns) / 1e6, (answered - change_ns) / 1e6)


def longest_ms(done_ns: Iterable[int], begin_ns: int, end_ns: int) -> float:
    """Longest time without an acknowledgement in milliseconds, between a begin and an end that count as ones."""
    within = sorted(done for done in done_ns if begin_ns < done < end_ns)
    edges = [begin_ns, *within, end_ns]
    return max(b - a for a, b in pairwise(edges)) / 1e6


def spec() -> ClusterSpec:
    """A cluster at level 2 on which a paused broker stays in sync."""
    return ClusterSpec.model_validate(
        {
            "name": "member-hang",
            "racks": "a:1,b:1,c:1",
            "controllers": 1,
            "profile": "kafka-defaults",
            "metrics": False,
            "jvm": "full",
            **at_level(2),
            "settings": LASTING,
        }
    )


def one(cluster: KafkaCluster, topic: str) -> Trial:
    """Pauses the follower that is in the electable set, and waits until it has caught up."""

    def known() -> tuple[tuple[int, ...], int] | Pending:
        read, found = time.time_ns(), changes(cluster)
        members = found[-1].members if found else ()
        return (members, read) if members else Pending("the partition has no electable set")

    before, read = wait_for(f"{topic} to have an electable set", known, 60, every=0.5)
    member = next(broker for broker in before if broker != LEADER)
    name = next(node.name for node in cluster.plan.brokers if node.id == member)
    begin = time.time_ns()
    cluster.pause(name)
    try:
        pause(PAUSE_S + UNDER_WAY_S)
        end = time.time_ns()
    finally:
        cluster.resume(name)
    cluster.wait_in_sync()
    pause(REST_S)
    return Trial(member, before, read, begin, end)


def measure(trials: int) -> tuple[list[Trial], list[Silence], list[Swap]]:
    """The trials that count on one cluster, the silences of both modes, and the changes of the set.

    Fewer trials than requested if twice as many do not suffice. Raises RackspanError.
    """
    with tempfile.TemporaryDirectory(prefix="rackspan-member-hang-") as name, ExitStack() as stack:
        folder = Path(name)
        cluster = stack.enter_context(KafkaCluster.running(spec()))
        bootstrap = cluster.plan.brokers[0].endpoint  # a client that asks a paused broker for metadata waits for it
        topics = Topics(bootstrap)
        clients: dict[str, tuple[LoadClient, Path]] = {}
        for acks, topic in MODES.items():
            topics.create(topic, [[LEADER, 2, 3]], min_insync_replicas=2, min_insync_racks=2)
            out = folder / f"{topic}.bin"
            produce = Produce(topic, bootstrap, topic, out, rate=RATE, acks=acks, close_seconds=20, control=True)
            command = java_command(load_jar(), cluster.distribution.home / "libs", produce.args())
            process = stack.enter_context(LoadProcess(command, folder / f"{topic}.log", nice=priority()))
            process.wait_line("started", 60)
            clients[acks] = process, out
        pause(WARM_UP_S)
        done: list[tuple[Trial, int | None]] = []
        for number in range(2 * trials):
            trial = one(cluster, MODES[QUORUM])
            times = [change.t_ns for change in changes(cluster)]
            print(f"pause {number + 1}: {trial}, counts: {counts(trial, times)}", file=sys.stderr)
            done += [(trial, changed_at(trial, times))] if counts(trial, times) else []
            if len(done) == trials:
                break
        silences, swaps = [], []
        for acks, (client, out) in clients.items():
            client.stop(60)
            answered = [row["done_ns"] for row in read_acks(out).to_pylist() if row["result"] == "OK"]
            for n, (trial, at) in enumerate(done):
                silences.append(Silence(acks, n, longest_ms(answered, trial.begin_ns, trial.end_ns)))
                swaps += [swap(n, trial, at, answered)] if at and acks == QUORUM else []
        return [trial for trial, _ in done], silences, swaps


def summary(silences: Sequence[Silence], swaps: Sequence[Swap]) -> str:
    """A table: of each mode the median, the lowest and the highest silence, and whether the median meets the goal;
    below acks=min.insync.replicas the two parts of it.
    """
    if not silences:
        return "no trial counts: the set was changed just before each pause"
    rows = []
    for acks in MODES:
        found = [s.ms for s in silences if s.acks == acks]
        rows.append(_row(f"acks={acks}", found, _verdict(acks, found)))
        if acks == QUORUM and swaps:
            rows.append(_row("until the new set is written", [s.detection_ms for s in swaps], ""))
            rows.append(_row("from then to the next answer", [s.swap_ms for s in swaps], ""))
    return markdown.table(("mode", "trials", "ms", "lowest and highest", f"{GOAL_MS:.0f} ms"), rows, right=(1, 2))


def _row(what: str, found: Sequence[float], verdict: str) -> tuple[str, int, str, str, str]:
    return what, len(found), f"{median(found):.0f}", f"{min(found):.0f} to {max(found):.0f}", verdict


def _verdict(acks: str, found: Sequence[float]) -> str:
    if acks != QUORUM:
        return "as long as the pause" if min(found) >= PAUSE_S * 1000 else "answered during the pause"
    if len(found) < ENOUGH:
        return "not enough runs"
    return "met" if median(found) <= GOAL_MS else "missed"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; exit codes as those of the command."""
    end_on_signals()
    parser = argparse.ArgumentParser(prog="python -m harness.benchmark.member_hang", description=__doc__)
    parser.add_argument("--trials", type=int, default=ENOUGH, metavar="COUNT")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write each trial there")
    options = parser.parse_args(arguments)

    def measured() -> tuple[dict[str, Any], str]:
        trials, silences, swaps = measure(max(1, options.trials))
        rows = {"trials": [asdict(t) for t in trials], "silences": [asdict(s) for s in silences]}
        return rows | {"swaps": [asdict(s) for s in swaps]}, summary(silences, swaps)

    return print_table(measured, options.json)


if __name__ == "__main__":
    sys.exit(main())
