"""Formatting the storage of all nodes of a cluster with one run of Kafka's storage tool.

The first controller is formatted by kafka-storage.sh; the others get a copy of its folder, brokers an empty one, and
each a meta.properties of its own. Nine JVM starts become one.
"""

from __future__ import annotations

import base64
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

from harness.cluster.node import KafkaNode


def random_id() -> str:
    """A random id in Kafka's form (22 characters). Never begins with "-", which command lines take for an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def meta_properties(cluster_id: str, node_id: int, directory_id: str) -> str:
    """The text of a storage folder's meta.properties (version 1)."""
    return f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={directory_id}\n"


def format_cluster(nodes: Sequence[KafkaNode], cluster_id: str, features: dict[str, int]) -> None:
    """Formats every node's storage; configuration files must have been written.

    Raises RackspanError with the tool's error.
    """
    first = next(n for n in nodes if n.node.role == "controller")
    levels = [part for name, level in features.items() for part in ("--feature", f"{name}={level}")]
    tool = first.distribution.script("kafka-storage.sh")
    command = [tool, "format", "-t", cluster_id, "-c", first.properties_file, *levels]
    first.host.run(command, env=first.tool_environment())
    with tempfile.TemporaryDirectory(prefix="rackspan-format-") as folder:
        seed = str(Path(folder) / "data")
        first.host.fetch(first.data_dir, seed)
        for node in nodes:
            if node is first:
                continue
            if node.node.role == "controller":
                node.host.send(seed, node.data_dir)
            meta = meta_properties(cluster_id, node.node.id, random_id())
            node.host.write(f"{node.data_dir}/meta.properties", meta)
