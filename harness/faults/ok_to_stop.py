"""Question before a shutdown: may this broker stop now? `kafka-racks.sh ok-to-stop` of its own distribution answers."""

from __future__ import annotations

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.node import NO_TOOL
from harness.common.errors import RackspanError

_STARTS_AND_ENDS_IN = 60.0  # seconds


def require_ok_to_stop(cluster: KafkaCluster, name: str, seconds: float = 60.0) -> None:
    """Waits up to `seconds` until the broker may be shut down: no partition stops taking writes or being read.

    Asks nothing for controllers, nor of stock Kafka, which has no such tool. Raises RackspanError with what is in the
    way, also where that could not be known.
    """
    node = cluster.node(name)
    if node.node.role != "broker":
        return
    question = ("ok-to-stop", str(node.node.id), "--wait", f"{seconds:.0f}", "--bootstrap-server", cluster.bootstrap)
    answer = node.tool("kafka-racks.sh", *question, seconds=seconds + _STARTS_AND_ENDS_IN)
    if answer.code not in (0, NO_TOOL):
        raise RackspanError(
            f"{name} was not restarted: it may not be shut down now",
            observed=" ".join((answer.out.strip() or answer.err).split()),
            do="restart it when what is listed is in sync, or without this question by `--force`",
        )
