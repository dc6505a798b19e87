"""Segments of a log on a node's disk: their names, and their bytes fetched from it."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.node import KafkaNode
from harness.recording.log_files import METADATA


def segment_names(node: KafkaNode, log: str) -> list[str]:
    """Names of the segments of a log such as `orders-0`, in order; none if the node has no such log."""
    folder = shlex.quote(f"{node.data_dir}/{log}")
    return sorted(node.host.shell(f"cd {folder} 2>/dev/null && ls | grep '[.]log$'").out.split())


def segments(node: KafkaNode, log: str) -> list[bytes]:
    """The segments of a log, in order; none if the node has no such log."""
    found = []
    with tempfile.TemporaryDirectory(prefix="rackspan-segments-") as local:
        for name in segment_names(node, log):
            node.host.fetch(f"{node.data_dir}/{log}/{name}", f"{local}/{name}")
            found.append(Path(local, name).read_bytes())
    return found


def longest_metadata_log(cluster: KafkaCluster) -> KafkaNode:
    """The controller with the longest metadata log: its last records may not be committed, all others are."""
    nodes = cluster.select("controllers")
    return max(nodes, key=lambda n: int(n.host.shell(f"cat {n.data_dir}/{METADATA}/*.log | wc -c").out or 0))
