"""Prometheus beside a cluster: its settings, with the rules that the distribution ships, and its process."""

from __future__ import annotations

import shutil
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from harness.backends.local import MARKER, LocalHost
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import environment_error, usage_error
from harness.common.wait import Pending, wait_for
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.topology import Node

PORT = 9090
SECONDS = 60.0


def settings(nodes: Iterable[Node], rules: Iterable[Path], interval: str = "5s") -> dict[str, Any]:
    """The settings of a Prometheus that scrapes every node, with the labels `node` and `rack`, and has these rules."""
    targets = [
        {"targets": [f"{n.address}:{n.metrics_port}"], "labels": {"node": n.name, "rack": n.rack}} for n in nodes
    ]
    return {
        "global": {"scrape_interval": interval, "evaluation_interval": interval},
        "rule_files": [str(file) for file in rules],
        "scrape_configs": [{"job_name": "kafka", "static_configs": targets}],
    }


def program(spec: ClusterSpec) -> str:
    """The path of Prometheus. Raises RackspanError where it is not installed, or the cluster cannot be scraped."""
    if spec.backend != "local" or not spec.metrics:
        raise usage_error(
            "cannot start the monitoring",
            observed=f"backend {spec.backend}, metrics {'on' if spec.metrics else 'off'}",
            do="use --monitoring with the backend local and metrics on",
        )
    found = shutil.which("prometheus")
    if found is None:
        raise environment_error(
            "cannot start the monitoring",
            observed="prometheus is not on PATH",
            do="install it (Debian, Ubuntu: sudo apt-get install prometheus), or leave --monitoring out",
        )
    return found


def start(cluster: KafkaCluster) -> str:
    """Starts Prometheus on an address of the cluster, waits until it answers, and returns its URL.

    It ends with the cluster. Raises RackspanError, WaitTimeout.
    """
    command = program(cluster.state.spec)
    address = f"127.{cluster.state.block}.255.2"
    folder = cluster.folder / "monitoring"
    host = LocalHost("monitoring", address, str(folder))
    rules = sorted((cluster.distribution.home / "config" / "monitoring").glob("*.yml"))
    host.write(f"{folder}/prometheus.yml", yaml.safe_dump(settings(cluster.plan.nodes, rules)))
    host.start(
        [
            command,
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address={address}:{PORT}",
        ],
        pid_file=f"{folder}/pid",
        output=f"{folder}/prometheus.log",
        env={MARKER: str(cluster.folder)},
    )
    url = f"http://{address}:{PORT}"

    def ready() -> bool | Pending:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=5) as answer:
            return answer.status == 200 or Pending(str(answer.status))

    wait_for("Prometheus to answer", ready, SECONDS, do=f"read {folder}/prometheus.log")
    return url
