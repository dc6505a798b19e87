"""Time that kafka-racks.sh takes to answer about a cluster of many partitions (proposal min.insync.racks, design 3.8).

    python -m harness.benchmark.large_cluster [--partitions 20000] [--rounds 5] [--json FILE]

Three racks of two brokers have topics of 100 partitions with a replica in each rack. Each verb is run as an operator
runs it: the script of the archive, with Kafka's own JVM flags, until it has ended. `kafka-topics.sh --describe` of the
same distribution is run in the same rounds, as what reading that many partitions takes. Prints a table.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from harness.admin.topics import Topics
from harness.benchmark.calm import wait_until_calm
from harness.benchmark.printed_table import print_table
from harness.benchmark.script_output import SECONDS, script_output
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common import markdown
from harness.common.process_tree import end_on_signals
from harness.spec.cluster_spec import ClusterSpec

GOAL = 5.0  # seconds, for each verb
ENOUGH = 5  # rounds; in fewer the goal is neither met nor missed
PER_TOPIC = 100
_RESTING, _RESTS = 0.15, 24  # share of the processors; at most two minutes
DESCRIBE = "kafka-topics.sh --describe"
QUESTIONS: dict[str, tuple[str, ...]] = {
    DESCRIBE: ("kafka-topics.sh", "--describe"),
    "status": ("kafka-racks.sh", "status"),
    "what-if --all-racks 1": ("kafka-racks.sh", "what-if", "--all-racks", "1"),
    "ok-to-stop --rack a": ("kafka-racks.sh", "ok-to-stop", "--rack", "a"),
    "audit --min-racks 3": ("kafka-racks.sh", "audit", "--min-racks", "3"),
    "preflight --set min.insync.racks=2": ("kafka-racks.sh", "preflight", "--set", "min.insync.racks=2"),
    "ledger": ("kafka-racks.sh", "ledger"),
}


@dataclass(frozen=True)
class Answer:
    """One answer: the question, its round, seconds until the tool had ended, and the bytes that it printed."""

    question: str
    round: int
    seconds: float
    printed: int


def command(cluster: KafkaCluster, question: str) -> list[str]:
    """The command line of a question; the controllers are not in the racks of brokers."""
    script, *arguments = QUESTIONS[question]
    if script == "kafka-racks.sh":
        arguments += ["--controller-racks", ",".join(f"{node.id}=elsewhere" for node in cluster.plan.controllers)]
    return [cluster.distribution.script(script), *arguments, "--bootstrap-server", cluster.bootstrap]


def ask(question: str, number: int, line: Sequence[str], folder: Path) -> Answer:
    """Runs a command line once; `folder` is for the tool's own logs. Raises RackspanError if it could not answer."""
    begin = time.monotonic()
    printed = script_output(line, folder, f"{question} could not answer", answers=(0, 1))
    return Answer(question, number, time.monotonic() - begin, len(printed))


def spec() -> ClusterSpec:
    """Three racks of two brokers, which a process's limit of open files (20,000) suffices for, and one controller."""
    return ClusterSpec.model_validate(
        {
            "name": "large",
            "racks": "a:2,b:2,c:2",
            "controllers": 1,
            "profile": "kafka-defaults",
            "metrics": False,
            "jvm": "full",
            # A follower's fetch that finds nothing looks at thousands of partitions: it should wait long.
            "broker": {"replica.fetch.wait.max.ms": 15_000},
            "heap": {"broker": "1500m", "controller": "1g"},
        }
    )


def fill(cluster: KafkaCluster, partitions: int) -> None:
    """Makes topics with so many partitions, a replica in each rack, led by each broker in turn.

    Raises RackspanError, KafkaException.
    """
    topics = Topics(cluster.bootstrap, seconds=SECONDS)
    racks: dict[str, list[int]] = {}
    for node in cluster.plan.brokers:
        racks.setdefault(node.rack, []).append(node.id)
    chosen = [[ids[n % len(ids)] for ids in racks.values()] for n in range(max(map(len, racks.values())))]
    orders = [ids[n:] + ids[:n] for ids in chosen for n in range(len(ids))]
    for first in range(0, partitions, PER_TOPIC):
        count = min(PER_TOPIC, partitions - first)
        topics.create(f"topic-{first}", [orders[n % len(orders)] for n in range(count)], min_insync_replicas=2)
        if (first + count) % 1000 == 0:
            print(f"{first + count} of {partitions} partitions", file=sys.stderr)
    cluster.wait_in_sync(SECONDS)


def _settle() -> None:
    busy = wait_until_calm(_RESTING, _RESTS)
    if busy >= _RESTING:
        print(f"measured beside other work: {busy:.0%} of the processors are in use", file=sys.stderr)


def summary(answers: Sequence[Answer]) -> str:
    """A table: of each question the median, the lowest and the highest seconds, the median ratio to kafka-topics.sh in
    the same round, and whether all answers came in time.
    """
    described = {a.round: a.seconds for a in answers if a.question == DESCRIBE}
    rows = []
    for question in dict.fromkeys(a.question for a in answers):
        own = [a for a in answers if a.question == question]
        seconds = [a.seconds for a in own]
        ratio = median(a.seconds / described[a.round] for a in own)
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        rows.append((question, f"{median(seconds):.2f}", spread, f"{ratio:.2f}", _verdict(question, seconds)))
    return markdown.table(("question", "s", "lowest and highest", "ratio", f"{GOAL:.0f} s"), rows, right=(1, 3))


def _verdict(question: str, seconds: Sequence[float]) -> str:
    if question == DESCRIBE:
        return ""
    if len(seconds) < ENOUGH:
        return "not enough runs"
    if max(seconds) <= GOAL:
        return "met"
    return "missed" if min(seconds) > GOAL else "not shown"


def run(partitions: int, rounds: int) -> list[Answer]:
    """The answers of all rounds; every other round has the questions in reverse order. Raises RackspanError."""
    with KafkaCluster.running(spec()) as cluster:
        fill(cluster, partitions)
        _settle()
        answers = []
        for number in range(rounds):
            for question in list(QUESTIONS) if number % 2 == 0 else list(QUESTIONS)[::-1]:
                answers.append(ask(question, number, command(cluster, question), cluster.folder))
                print(f"round {number + 1} of {rounds}: {question} {answers[-1].seconds:.2f} s", file=sys.stderr)
    return answers


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; exit codes as those of the command."""
    end_on_signals()
    parser = argparse.ArgumentParser(prog="python -m harness.benchmark.large_cluster", description=__doc__)
    parser.add_argument("--partitions", type=int, default=20_000, metavar="COUNT")
    parser.add_argument("--rounds", type=int, default=ENOUGH, metavar="COUNT")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write each answer there")
    options = parser.parse_args(arguments)

    def measured() -> tuple[list[dict[str, Any]], str]:
        answers = run(max(1, options.partitions), max(1, options.rounds))
        return [asdict(a) for a in answers], summary(answers)

    return print_table(measured, options.json)


if __name__ == "__main__":
    sys.exit(main())
