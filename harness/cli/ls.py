"""`rackspan ls`: all clusters."""

from __future__ import annotations

from harness.cli.options import FormatOption
from harness.cli.output import Format, data, err, out, table
from harness.cluster import cluster_folders
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import RackspanError


def ls(output: FormatOption = Format.TABLE) -> None:
    """List the clusters of this machine's user."""
    rows: list[dict[str, object]] = []
    for name in sorted(cluster_folders.names(), key=_own_network):
        try:
            now = KafkaCluster.open(name).status()
        except RackspanError as e:
            rows.append({"name": name, "health": "unreadable", "why": e.brief})
            continue
        running = sum(n.state == "running" for n in now.nodes)
        rows.append(
            {
                "name": name,
                "health": now.health,
                "running": running,
                "nodes": len(now.nodes),
                "distribution": now.distribution,
                "bootstrap": now.bootstrap,
            }
        )
    if output is not Format.TABLE:
        data(rows, output)
    elif rows:
        columns = ("CLUSTER", "HEALTH", "RUNNING", "NODES", "DISTRIBUTION", "ERROR")
        keys = ("name", "health", "running", "nodes", "distribution", "why")
        out.print(table(columns, [[r.get(key) for key in keys] for r in rows]))
    else:
        err.print("no cluster found")


def _own_network(name: str) -> bool:
    """Sorts clusters with a network of their own last: an ordinary user who entered it cannot leave it again."""
    try:
        return KafkaCluster.open(name).state.spec.backend == "netns"
    except RackspanError:
        return False
