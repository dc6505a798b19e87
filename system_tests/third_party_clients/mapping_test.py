"""The purpose of mapping the new codes: without it, third-party clients give records up when a rack is lost."""

from __future__ import annotations

import time

from harness.common.paths import project_root
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.load_service import Acks
from harness.faults.rack import rack_down
from harness.recording.log_errors import Allowed
from system_tests.lib import acks
from system_tests.lib.base import RackTest
from system_tests.third_party_clients import outcomes, table
from system_tests.third_party_clients.client_group import ClientGroup
from system_tests.third_party_clients.unmapped import unmapped

SCENE = "unmapped"
OURS = "rackspan"
# @platformatic/kafka stumbles over a code that is not in its list, and retries after any error that is not its own.
RETRYING = (OURS, "platformatic")
LIMIT_S, RATE = 120.0, 4.0
LEAST = 3  # clients that must be observed to fail
GAVE_UP = Allowed(
    r"Error processing append operation on partition \S+:unmapped-.*\n\S*\.OutOfOrderSequenceException",
    "an idempotent client that gave records up has later ones under way; the broker logs each that it refuses",
)


class WithoutMapping(RackTest):
    """The same clients in the same outage, on brokers whose mapping was taken out."""

    def test_third_party_clients_give_records_up(self) -> None:
        """Our client retries; the behaviour of each other one is written to mapping.json and compared with the page."""
        brokers = {name: {"distribution": str(unmapped())} for name in ("a1", "b1")}
        spec = self.spec("a:1,b:1", nodes=brokers, settings=acks.CALM)
        with self.racks(spec, [GAVE_UP]) as kafka:
            group = ClientGroup(self, kafka)
            group.create(SCENE, [[1, 2]], min_insync_replicas=1, min_insync_racks=2)
            producers = group.produce(SCENE, 1, LIMIT_S, RATE)
            group.settle("every client to be served", producers, lambda _, a: len(a.ok) >= 5, 60)
            with rack_down(kafka.kafka, "b", events=self.run):
                for topic in group.topics(SCENE).values():
                    kafka.wait_in_sync(topic, {1}, 60)
                begin_ns = time.time_ns()

                def reported(key: str, so_far: Acks) -> bool:
                    return key in RETRYING or any(r["result"] not in ("", "OK") for r in so_far.due(begin_ns).rows)

                group.settle("third-party clients to give a record up", producers, reported, 60)
                retrying = [c.key for c in group.clients if c.key in RETRYING]

                def refused() -> bool | Pending:
                    counts = group.refusals(SCENE)
                    return all(counts[key] > 1 for key in retrying) or Pending(f"refused: {counts}")

                wait_for(f"{retrying} to be refused", refused, 60)
            for topic in group.topics(SCENE).values():
                kafka.wait_in_sync(topic, seconds=60)
            ended = group.finish(SCENE, producers, LIMIT_S + outcomes.GRACE_S)
        for key, reported_by_client in ended.items():
            outcomes.without_mapping(group.results[key], reported_by_client, begin_ns)
        results = group.evaluated()
        table.write(self.folder / table.MAPPING, results)
        failing = [r.title for r in results if r.numbers.get("without the mapping: errors")]
        ours = group.results[OURS]
        assert not ours.violations, f"our own client, which knows the codes: {ours.violations}"
        assert len(failing) >= LEAST, f"only {failing} give records up: does the mapping matter?"
        table.check(self.folder / table.MAPPING, project_root() / "docs" / "reference" / "clients.md")
