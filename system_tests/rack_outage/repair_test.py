"""A repair of placement that kafka-racks.sh writes, executed under load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.admin.reassignment import wait_reassigned
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest
from system_tests.lib.kafka_racks import ask

NARROW = [[1, 2], [2, 1], [1, 2]]  # brokers 1 and 2 are in rack a
RATE = 20


class Repair(RackTest):
    """Two brokers in rack a, one in each of the others."""

    def test_an_executed_repair_refuses_nothing_and_leaves_nothing_to_find(self) -> None:
        """Each partition gets one replica elsewhere, and no more; writers notice nothing."""
        with self.racks(self.spec("a:2,b:1,c:1", settings=PATIENT), [expect.OVERTAKEN, expect.NEW_REPLICA]) as kafka:
            self.topics(kafka).create("narrow", NARROW)
            code, found = ask(kafka, "audit")
            kinds = {(f["kind"], f["topic"]) for f in found["findings"]}
            assert (code, kinds) == (
                1,
                {(kind, "narrow") for kind in ("TOO_FEW_RACKS", "RACK_HOLDS_QUORUM", "RACK_STOPS_WRITES")},
            )
            file = Path(kafka.kafka.folder) / "repair.json"
            code, found = ask(kafka, "audit", "--repair", str(file))
            assert (code, found["repair"]) == (0, {"partitions": 3, "copies": 3, "left": []}), found
            wanted = {p["partition"]: p["replicas"] for p in json.loads(file.read_text())["partitions"]}
            assert all(replicas[0] == NARROW[p][0] for p, replicas in wanted.items()), wanted

            lose = ("what-if", "--lose", "broker:1,broker:2", "--topic", "narrow")
            planned = answers(ask(kafka, *lose, "--reassignment", str(file))[1])
            assert (answers(ask(kafka, *lose)[1]), planned) == (("no", "no", "no"), ("yes", "yes", "yes"))

            writer = self.producer(kafka, "during", "narrow", rate=RATE, duration=3600)
            kafka.tool("kafka-reassign-partitions.sh", "--execute", "--reassignment-json-file", str(file))
            wait_reassigned(kafka.kafka, "narrow", wanted)
            acks = writer.end()
            assert ask(kafka, "audit")[0] == 0
            assert answers(ask(kafka, *lose)[1]) == planned
            assert set(acks.counts) == {("OK", "")}, acks.counts
            expect.once_each([acks], self.read(kafka, "narrow"))


def answers(found: dict[str, Any]) -> tuple[str, str, str]:
    """Predictions for the first topic: readable, electable, writable with acks=all."""
    topic = found["scenarios"][0]["topics"][0]
    return topic["readable"], topic["electable"], topic["writable"]["acksAll"]
