"""Metrics of Kafka nodes as the JMX exporter serves them, read once or sampled into a run folder."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from harness.common.errors import RackspanError
from harness.run_folder.run_folder import RunFolder
from harness.spec.topology import Node

# What the run folder keeps: gauges and counters of racks, replicas, partitions, errors and traffic.
KEPT = (
    "kafka_cluster_Partition_",
    "kafka_server_ReplicaManager_",
    "kafka_server_ProduceAcks_",
    "kafka_network_RequestMetrics_Errors",
    "kafka_server_BrokerTopicMetrics_MessagesIn",
    "jvm_heap_used_bytes",
)


@dataclass(frozen=True)
class Sample:
    """One value of one node."""

    t_ns: int
    node: str
    rack: str
    name: str
    labels: Mapping[str, str]
    value: float


def scrape(node: Node, seconds: float = 30.0) -> list[Sample]:
    """All metrics of one node, now. Raises RackspanError if its exporter does not answer."""
    url = f"http://{node.address}:{node.metrics_port}/metrics"
    try:
        with urllib.request.urlopen(url, timeout=seconds) as answer:
            text = answer.read().decode()
    except (urllib.error.URLError, OSError) as e:
        raise RackspanError(
            f"cannot read the metrics of {node.name}", observed=str(e), do=f"see whether {node.name} runs"
        ) from e
    return parse(text, node, time.time_ns())


def parse(text: str, node: Node, t_ns: int) -> list[Sample]:
    """Samples from Prometheus text."""
    return [
        Sample(t_ns, node.name, node.rack, s.name, dict(s.labels), float(s.value))
        for family in text_string_to_metric_families(text)
        for s in family.samples
    ]


def total(samples: Iterable[Sample], name: str, **labels: str) -> float:
    """Sum of one metric over nodes and over the labels that are not given; 0 if there is none."""
    return sum(s.value for s in samples if s.name == name and all(s.labels.get(key) == v for key, v in labels.items()))


class Sampler:
    """Samples nodes once a period in a thread and writes all of it to the run folder at the end.

    A node that does not answer has no rows for that time: that is what an outage looks like.
    """

    def __init__(self, nodes: Iterable[Node], run: RunFolder, period: float = 1.0, part: str = "metrics") -> None:
        self._nodes = list(nodes)
        self._run = run
        self._period = period
        self._part = part
        self._rows: list[dict[str, Any]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="metrics", daemon=True)

    def start(self) -> None:
        """Begins to sample."""
        self._thread.start()

    def stop(self) -> None:
        """Ends, and writes what was sampled."""
        self._over.set()
        self._thread.join()
        if self._rows:
            self._run.add_metrics(self._rows, self._part)

    def _sample(self) -> None:
        while not self._over.is_set():
            for node in self._nodes:
                try:
                    samples = scrape(node, seconds=1.0)
                except RackspanError:
                    continue
                self._rows += [_row(s) for s in samples if s.name.startswith(KEPT)]
            self._over.wait(self._period)


def _row(s: Sample) -> dict[str, Any]:
    return {
        "t_ns": s.t_ns,
        "node": s.node,
        "rack": s.rack,
        "name": s.name,
        "labels": json.dumps(dict(s.labels), sort_keys=True),
        "value": s.value,
    }
