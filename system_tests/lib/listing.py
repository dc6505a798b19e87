"""The listings of kafka-topics.sh: its options for unhealthy partitions."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

from harness.ducktape_support.kafka_service import KafkaRacks

UNDER_REPLICATED = "under-replicated-partitions"
AT_MIN_ISR = "at-min-isr-partitions"
UNDER_MIN_ISR = "under-min-isr-partitions"
UNAVAILABLE = "unavailable-partitions"
AT_MIN_RACKS = "at-min-rack-isr-partitions"
UNDER_MIN_RACKS = "under-min-rack-isr-partitions"


def listed(kafka: KafkaRacks, *options: str) -> dict[str, set[str]]:
    """Partitions, as in `topic-0`, by option. Two tools at a time: more would only take the brokers' processor time."""
    with ThreadPoolExecutor(2) as pool:
        outputs = pool.map(lambda option: kafka.tool("kafka-topics.sh", "--describe", f"--{option}"), options)
        found = [re.findall(r"Topic: (\S+)\s+Partition: (\d+)", output) for output in outputs]
    return {o: {f"{topic}-{p}" for topic, p in rows} for o, rows in zip(options, found, strict=True)}
