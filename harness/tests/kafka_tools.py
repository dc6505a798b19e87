"""Kafka's own tools as tests run them: quickly started."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from functools import cache

from harness.cluster.class_archive import archive_for
from harness.cluster.jvm_options import JvmOptions
from harness.cluster.kafka_cluster import KafkaCluster
from harness.distribution.locate import find


@cache
def tool_environment(distribution: str, logs: str = "") -> dict[str, str]:
    """Environment in which the scripts of a distribution, "rackspan" or "stock", start fast and log to that folder."""
    return JvmOptions("quick", archive_for(find(distribution))).tool_environment(logs)


def script(
    name: str,
    *args: str,
    stdin: str = "",
    seconds: float = 90,
    fast: bool = True,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a script; `fast`: with the options of short-lived JVMs, else with its own."""
    return subprocess.run(
        [find("rackspan").script(f"{name}.sh"), *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={**os.environ, **(tool_environment("rackspan") if fast else {}), **(env or {})},
    )


def tool(cluster: KafkaCluster, name: str, *args: str, stdin: str = "") -> str:
    done = script(name, "--bootstrap-server", cluster.bootstrap, *args, stdin=stdin)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout
