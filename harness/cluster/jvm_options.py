"""Flags of the JVMs, as the environment that Kafka's start scripts read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.common.jvm_flags import QUICK
from harness.distribution.locate import Distribution
from harness.spec.topology import Node

FULL = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
NO_JMX = "-Djava.awt.headless=true"  # in place of the JMX agent, which scripts start where no option is set


@dataclass(frozen=True)
class JvmOptions:
    """Options of the JVMs of a cluster.

    `archive`: AppCDS archive (see class_archive.py); `agent`: jar and rules of the JMX exporter.
    """

    mode: Literal["quick", "full"]
    archive: str | None = None
    agent: tuple[str, str] | None = None

    def flags(self) -> list[str]:
        """Performance flags: `quick` starts fast and suffices for function tests; `full` is for numbers."""
        flags = list(QUICK if self.mode == "quick" else FULL)
        if self.archive is not None:
            # An archive that does not fit is no error: the JVM runs without it.
            flags += [
                "-Xshare:auto",
                f"-XX:SharedArchiveFile={self.archive}",
                "-Xlog:disable",
                "-Xlog:all=error:stderr",
            ]
        return flags

    def environment(self, node: Node, logs_dir: str) -> dict[str, str]:
        """Environment of kafka-server-start.sh for a node."""
        agent = ""
        if self.agent is not None:
            jar, rules = self.agent
            agent = f"-javaagent:{jar}={node.address}:{node.metrics_port}:{rules}"
        return {
            "KAFKA_HEAP_OPTS": f"-Xms{node.heap} -Xmx{node.heap}",
            "KAFKA_JVM_PERFORMANCE_OPTS": " ".join(self.flags()),
            "KAFKA_JMX_OPTS": NO_JMX,
            "KAFKA_OPTS": agent,
            "EXTRA_ARGS": "-name kafkaServer",  # no log of garbage collections
            "LOG_DIR": logs_dir,
        }

    def tool_environment(self, logs_dir: str) -> dict[str, str]:
        """Environment of Kafka's short-lived tools: always quick."""
        flags = JvmOptions("quick", self.archive).flags()
        return {
            "KAFKA_HEAP_OPTS": "-Xmx256m",
            "KAFKA_JVM_PERFORMANCE_OPTS": " ".join(flags),
            "KAFKA_JMX_OPTS": NO_JMX,
            "KAFKA_OPTS": "",
            "LOG_DIR": logs_dir,
        }


def agent_of(distribution: Distribution, placed: Distribution) -> tuple[str, str] | None:
    """Jar and rules of the distribution's JMX exporter as they lie at `placed`; None if it has none."""
    jar, rules = distribution.metrics_agent, distribution.metrics_rules
    if jar is None or not rules.is_file():
        return None
    there = [placed.home / path.relative_to(distribution.home) for path in (jar, rules)]
    return str(there[0]), str(there[1])
