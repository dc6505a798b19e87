"""Times in which min.insync.racks of topics was lowered by a degrade, from the metadata log, and their ledger."""

from __future__ import annotations

import json
import re
from typing import Any

from harness.cluster.kafka_cluster import KafkaCluster
from harness.run_folder.run_folder import RunFolder

Row = dict[str, Any]

DEGRADE = "min.insync.racks.degrade"  # a setting of topics
_FROM = re.compile(r"to=\d+,from=(\d*),")


class Degrades:
    """Degrades of some topics, as the records of the metadata log come."""

    def __init__(self) -> None:
        self.found: list[Row] = []
        self._open: dict[str, Row] = {}

    def change(self, topic: str, value: str | None, racks_by_default: int, t_ns: int) -> None:
        """Takes in a change of the setting: a degrade begins, ends, or becomes another.

        Raises ValueError for a value that no controller writes.
        """
        if topic in self._open:
            self._open.pop(topic)["end_ns"] = t_ns
        if value is None:
            return
        match = _FROM.match(value)
        if match is None:
            raise ValueError(f"{DEGRADE} of {topic} is {value!r}")
        promised = int(match[1]) if match[1] else racks_by_default
        self._open[topic] = {"topic": topic, "promised": promised, "begin_ns": t_ns, "end_ns": 1 << 62}
        self.found.append(self._open[topic])


def record_ledger(cluster: KafkaCluster, run: RunFolder, topics: list[str]) -> None:
    """Notes the ledger of these topics as kafka-racks.sh has it; nothing if that could not be known."""
    node = cluster.node(cluster.plan.brokers[0].name)
    answer = node.tool("kafka-racks.sh", "ledger", *topics, "--bootstrap-server", cluster.bootstrap, "-o", "json")
    if answer.code in (0, 1):
        names = ("topic", "partition", "from", "to")
        ranges = [{name: one[name] for name in names} for one in json.loads(answer.out)["ranges"]]
        run.event("note", "ledger", "point", {"ranges": ranges})
