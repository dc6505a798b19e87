"""`rackspan env`: environment variables for a shell that uses a cluster."""

from __future__ import annotations

import shlex

from harness.cli.options import ClusterArgument, ClusterOption, FormatOption, chosen, named
from harness.cli.output import Format, data, err, out
from harness.cluster.kafka_cluster import KafkaCluster


def env(name: ClusterArgument = None, cluster: ClusterOption = None, output: FormatOption = Format.TABLE) -> None:
    """Print export lines: eval "$(rackspan env)" puts the cluster's tools on PATH and its address in BOOTSTRAP."""
    found = chosen(named(name, cluster))
    values = environment(found)
    if found.backend.capabilities:
        err.print(f"{found.name} has a network of its own: use `rackspan exec NODE -- COMMAND` to reach it")
    if output is not Format.TABLE:
        data(values, output)
        return
    for key, value in values.items():
        if key == "PATH":
            out.print(f"export PATH={shlex.quote(value)}:$PATH", markup=False)
        else:
            out.print(f"export {key}={shlex.quote(value)}", markup=False)


def environment(cluster: KafkaCluster) -> dict[str, str]:
    """The variables; PATH holds only what goes in front."""
    return {
        "RACKSPAN_CLUSTER": cluster.name,
        "BOOTSTRAP": cluster.bootstrap,
        "KAFKA_HOME": str(cluster.distribution.home),
        "PATH": str(cluster.distribution.home / "bin"),
    }
