"""Every client through a rack outage that ends, one that stays, and a mistaken topic; then it reads. Side by side."""

from __future__ import annotations

import time

from harness.common.paths import project_root
from harness.common.wait import Pending, pause, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.rack import rack_down
from harness.recording.log_errors import Allowed
from harness.third_party_clients.registry import named
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest
from system_tests.third_party_clients import outcomes, table
from system_tests.third_party_clients.client_group import ClientGroup, violations

SPREAD = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]  # brokers 1 and 2 are in rack a, 3 is in b
PASSING, STAYING, MISTAKEN, DEFAULTS = "passing", "staying", "mistaken", "defaults"
LONG_S, SHORT_S = 300.0, 8.0  # how long a client may try for a record
MISTAKEN_S = 30.0  # the same where it must not try: longer than a machine stalls
OUTAGE_S = 12.0  # at least, from when writes are refused
RATE = 1.0  # a record is tried once a second, by some clients one after the other: more would queue in them

GROUP = Allowed(
    r"\[GroupCoordinator id=\d+\] Failed to load metadata from __consumer_offsets-\d+ ",
    "KafkaJS reads in a group; at the end all brokers stop at once, and one that is to lead has no time to load it",
)


class ClientMatrix(RackTest):
    """Fails if a client hangs, crashes, loses what was acknowledged, or takes a refusal for final that is not."""

    def test_all_clients(self) -> None:
        """Runs all scenes, writes the results to matrix.json and defaults.json, and compares them with the page."""
        with self.racks(self.spec("a:2,b:1", settings=acks.CALM), [expect.REPLICAS_REFUSED, GROUP]) as kafka:
            group = ClientGroup(self, kafka)
            self.scenes(kafka, group)
        results = group.evaluated()
        table.write(self.folder / table.MATRIX, results)
        table.write(self.folder / table.DEFAULTS, [r for r in results if named(r.key).short])
        assert not any(r.violations for r in results), violations(results)
        page = project_root() / "docs" / "reference" / "clients.md"
        table.check(self.folder / table.DEFAULTS, page)
        table.check(self.folder / table.MATRIX, page)

    def scenes(self, kafka: KafkaRacks, group: ClientGroup) -> None:
        """The mistaken topic first, both outages at once, then the readers."""
        group.create(PASSING, SPREAD, min_insync_replicas=2, min_insync_racks=2)
        group.create(STAYING, SPREAD[:1], min_insync_replicas=2, min_insync_racks=2)
        group.create(MISTAKEN, [[1, 2]], min_insync_replicas=3)
        short = group.short()
        short.create(DEFAULTS, SPREAD[:1], min_insync_replicas=2, min_insync_racks=2)
        mistaken = group.produce(MISTAKEN, 1, MISTAKEN_S, rate=5, records=5)
        defaults = short.produce(DEFAULTS, 1, SHORT_S, RATE, own_retries=True)
        passing = group.produce(PASSING, 3, LONG_S, RATE)
        staying = group.produce(STAYING, 1, SHORT_S, RATE, remedied=True)
        for producers in (passing, staying, defaults):
            group.settle("every client to be served", producers, lambda _, a: len(a.ok) >= 10, 120)
        for key, reported in group.finish(MISTAKEN, mistaken, MISTAKEN_S + outcomes.GRACE_S, stop=False).items():
            outcomes.mistaken_topic(group.results[key], reported, MISTAKEN_S)

        with rack_down(kafka.kafka, "b", events=self.run):
            wait_left(kafka, {1, 2})
            begin_ns = time.time_ns()
            group.settle(
                "every client to give a record up",
                staying,
                lambda _, a: any(map(given_up, a.due(begin_ns).rows)),
                outcomes.GRACE_S,
            )
            short.settle(
                "those with short limits to give a record up",
                defaults,
                lambda _, a: any(map(given_up, a.due(begin_ns).rows)),
                outcomes.GRACE_S,
            )
            stayed = group.finish(STAYING, staying, SHORT_S + outcomes.GRACE_S)
            pause(max(0.0, OUTAGE_S - (time.time_ns() - begin_ns) / 1e9))
            end_ns = time.time_ns()
        wait_left(kafka, {1, 2, 3})
        back_ns = time.time_ns()
        group.settle("every client to be served again", passing, lambda _, a: len(a.due(back_ns).ok) >= 10, LONG_S)
        passed = group.finish(PASSING, passing, LONG_S + outcomes.GRACE_S)
        for key, reported in short.finish(DEFAULTS, defaults, SHORT_S + outcomes.GRACE_S).items():
            kept = self.read(kafka, short.topics(DEFAULTS)[key])
            outcomes.own_retries(group.results[key], reported, kept, begin_ns, end_ns)
        self.evaluate(kafka, group, passed, stayed, begin_ns)

    def evaluate(
        self,
        kafka: KafkaRacks,
        group: ClientGroup,
        passed: dict[str, outcomes.Reported],
        stayed: dict[str, outcomes.Reported],
        begin_ns: int,
    ) -> None:
        """Reads everything back, lets each client read its own topic, and evaluates."""
        there = {key: self.read(kafka, topic) for key, topic in group.topics(PASSING).items()}
        for key, result in group.results.items():
            if result.skip_reason:
                continue
            outcomes.outage_that_ends(result, passed[key], there[key])
            kept = self.read(kafka, group.topics(STAYING)[key])
            outcomes.outage_that_stays(result, stayed[key], kept, begin_ns, SHORT_S, named(key).remedy)
        for key, (ended, metadata, rows) in group.read(PASSING, {k: len(r) for k, r in there.items()}).items():
            outcomes.reading(group.results[key], ended, metadata, rows, there[key], SPREAD)


def given_up(row: dict[str, object]) -> bool:
    """True if the application saw an error."""
    return row["result"] not in ("", "OK")


def wait_left(kafka: KafkaRacks, replicas: set[int]) -> None:
    """Waits until the in-sync replicas of the scenes' topics are these."""

    def probe() -> bool | Pending:
        late = [
            f"{p.topic}-{p.partition} led by {p.leader}, ISR {p.isr}"
            for p in kafka.kafka.view().partitions
            if p.topic.startswith((PASSING, STAYING, DEFAULTS)) and (set(p.isr) != replicas or p.leader < 0)
        ]
        return Pending(f"{len(late)} partitions, first {late[0]}") if late else True

    wait_for(f"the ISR of all topics to be {sorted(replicas)}", probe, 60)
