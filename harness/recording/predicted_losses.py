"""Prediction for each rack and pair of racks that a run could lose, as `kafka-racks.sh what-if` of its cluster says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.node import NO_TOOL
from harness.run_folder.run_folder import RunFolder

EVENT = "predicted-losses"


def record(cluster: KafkaCluster, run: RunFolder, topics: Sequence[str]) -> None:
    """Notes what the loss of each rack, and of each pair of racks, with their power, would mean for the topics.

    The note has `losses`: a list of `racks`, and `topics` by name with `writable`, `readable` and `safe` ("yes", "no"
    or "unknown", for acks=all) and `reason`; or `unknown`, the text of the tool where it could not say. A
    distribution without the tool notes nothing.
    """
    losses: list[dict[str, Any]] = []
    node = cluster.node(cluster.plan.brokers[0].name)
    at = ["--bootstrap-server", cluster.bootstrap, "--controller-racks", _controllers(cluster), "-o", "json"]
    of = ["--unclean", *(w for t in topics for w in ("--topic", t))]
    for racks in (1, 2)[: len({n.rack for n in cluster.plan.brokers})]:
        answer = node.tool("kafka-racks.sh", "what-if", "--all-racks", str(racks), *of, *at)
        if answer.code == NO_TOOL:
            return
        if answer.code not in (0, 1):
            run.event("note", EVENT, "point", {"unknown": " ".join(answer.err.split())})
            return
        losses += [_loss(scenario) for scenario in json.loads(answer.out)["scenarios"]]
    run.event("note", EVENT, "point", {"losses": losses})


def _controllers(cluster: KafkaCluster) -> str:
    return ",".join(f"{n.id}={n.rack}" for n in cluster.plan.controllers)


def _loss(scenario: dict[str, Any]) -> dict[str, Any]:
    topics = {
        topic["topic"]: {
            "writable": topic["writable"]["acksAll"],
            "readable": topic["readable"],
            "safe": topic["safe"]["acksAll"],
            "reason": topic["reason"],
        }
        for topic in scenario["topics"]
    }
    return {"racks": scenario["lost"]["racks"], "topics": topics}
