"""Leaders that end while the in-sync follower that comes next lags, drawn by seed: what acks=min.insync.replicas had
acknowledged is lost at level 1 of rackspan.version, and kept at level 2.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from ducktape.mark import matrix

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.power import power_cut
from harness.faults.process import nodes_down
from harness.spec.rackspan_level import at_level
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest

KINDS = ("shutdown", "kill", "pause", "power cut")
RACKS = "a:1,b:1,c:1"
# A leader that is gone is missed in this time; a follower that is paused for less stays in sync.
SETTINGS = {"broker.session.timeout.ms": 9000, "replica.lag.time.max.ms": 240000}
RECORDS = 100
SHARE_LOST = 0.95  # of the trials at level 1: the others show nothing
MOST_INVALID = 0.2


@dataclass(frozen=True)
class Trial:
    """End of a leader, and the brokers: the leader, the follower that lags, and the one that has everything."""

    kind: str
    seed: int
    leader: int
    lagging: int
    complete: int

    @property
    def topic(self) -> str:
        """A topic of its own."""
        return f"{self.kind.replace(' ', '-')}-{self.seed}"

    @classmethod
    def drawn(cls, kind: str, seed: int) -> Trial:
        """The trial of a seed."""
        return cls(kind, seed, *random.Random(f"{kind} {seed}").sample((1, 2, 3), 3))


@dataclass(frozen=True)
class Outcome:
    """Records that were acknowledged during the lag, those of them that are gone, and who leads then."""

    trial: Trial
    acknowledged: int
    lost: int
    leader: int
    invalid: bool


class LaggingFollowerElected(RackTest):
    """Each trial has a topic whose replicas are the leader, the follower that lags, the complete one, in that order."""

    def test_leader_killed_and_without_power(self) -> None:
        """Level 1 loses in each valid trial, level 2 in none."""
        self.compare([Trial.drawn(kind, 0) for kind in ("kill", "power cut")])

    @matrix(first=[1, 6, 11])  # type: ignore[untyped-decorator]  # ducktape has no types
    def test_further_trials(self, first: int) -> None:
        """The same for 20 trials of all kinds: together 60 at each level."""
        self.compare([Trial.drawn(kind, seed) for seed in range(first, first + 5) for kind in KINDS])

    def compare(self, chosen: Sequence[Trial]) -> None:
        """Trials at both levels."""
        kept = self.outcomes(chosen, 2)
        assert not [o for o in kept if o.lost], f"level 2 lost records: {[o for o in kept if o.lost]}"
        control = [o for o in self.outcomes(chosen, 1) if not o.invalid]
        assert len(control) >= len(chosen) * (1 - MOST_INVALID), f"only {len(control)} of {len(chosen)} trials count"
        losing = [o for o in control if o.lost]
        assert len(losing) >= SHARE_LOST * len(control), f"{len(losing)} of {len(control)} lost records: {control}"

    def outcomes(self, chosen: Iterable[Trial], level: int) -> list[Outcome]:
        """Outcomes of the trials on one cluster at that level."""
        with self.racks(
            self.spec(RACKS, settings=SETTINGS, **at_level(level)), [expect.OVERTAKEN], shared=False
        ) as kafka:
            found = [self.play(kafka, trial) for trial in chosen]
        self.run.event("note", f"level {level}", "point", {"outcomes": [str(o) for o in found]})
        self.logger.info("level %s: %s", level, found)
        return found

    def play(self, kafka: KafkaRacks, trial: Trial) -> Outcome:
        """One trial: the follower is paused, records are acknowledged without it, the leader ends, it continues."""
        order = [trial.leader, trial.lagging, trial.complete]
        self.topics(kafka).create(trial.topic, [order], min_insync_replicas=2, min_insync_racks=2)
        producer = self.producer(
            kafka, trial.topic, trial.topic, acks=acks.QUORUM, rate=100, delivery_timeout_ms=120000
        )
        producer.wait_totals("the producer to be warm", lambda t: t["acked"] >= 20)
        with ExitStack() as ended:
            with nodes_down(kafka.kafka, kafka.broker(trial.lagging).name, how="pause", events=self.run):
                risky = self.run.event("note", "lag", "point", {"topic": trial.topic})
                acks.wait_acknowledged(producer, risky, RECORDS)
                producer.process.pause()
                exposed = acks.wait_answered(producer).due(risky)
                expect.all_acknowledged(exposed, len(exposed))
                ended.enter_context(self.leader_ended(kafka, trial))
            leader = wait_for(f"{trial.topic} to have another leader", lambda: other(kafka, trial), 120)
        kafka.wait_in_sync(trial.topic, {1, 2, 3}, 120)
        producer.process.resume()
        sent = producer.end()
        expect.all_acknowledged(sent, len(sent))
        kept = {(r["producer"], r["seq"]) for r in self.read(kafka, trial.topic)}
        lost = sum((r["producer"], r["seq"]) not in kept for r in exposed.ok)
        # One that was fenced in between was not in sync any more
        return Outcome(trial, len(exposed), lost, leader, invalid=not lost and leader != trial.lagging)

    @contextmanager
    def leader_ended(self, kafka: KafkaRacks, trial: Trial) -> Iterator[None]:
        """The leader ends in the way of the trial. It is back behind the block."""
        name = kafka.broker(trial.leader).name
        if trial.kind == "power cut":
            with power_cut(kafka.kafka, name, tail="torn", events=self.run):
                yield
        elif trial.kind == "shutdown":
            # The process ends only when no broker lags behind with metadata: behind the pause of the other one.
            kafka.node(name).terminate()
            wait_for(f"{name} to lead no more", partial(acks.follows, kafka, name, trial.topic), 60)
            yield
            kafka.kafka.stop(name, seconds=90)
            kafka.kafka.start(name)
        else:
            with nodes_down(kafka.kafka, name, how="kill" if trial.kind == "kill" else "pause", events=self.run):
                yield


def other(kafka: KafkaRacks, trial: Trial) -> int | Pending:
    """The broker that leads in place of the one that ended."""
    leaders = [p.leader for p in kafka.kafka.view().partitions if p.topic == trial.topic]
    found = next((leader for leader in leaders if leader not in (-1, trial.leader)), None)
    return found or Pending(f"leaders {leaders}")
