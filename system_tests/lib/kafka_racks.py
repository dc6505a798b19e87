"""Answers of kafka-racks.sh as documents."""

from __future__ import annotations

import json
from typing import Any

from harness.ducktape_support.kafka_service import KafkaRacks

# Lists what is in the way of stock nodes; with --remove it removes that.
TO_STOCK = ("kafka-racks.sh", "preflight", "--level", "0")


def ask(kafka: KafkaRacks, verb: str, *args: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the document of a verb. The controllers count as being in a rack of their own."""
    racks = ",".join(f"{n.id}=elsewhere" for n in kafka.plan.controllers)
    done = kafka.try_tool("kafka-racks.sh", verb, *args, "-o", "json", "--controller-racks", racks)
    assert done.code in (0, 1), done
    return done.code, json.loads(done.out)
