"""`rackspan ls`: all clusters."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from harness.cli.options import FormatOption
from harness.cli.output import Format, data, err, out, table
from harness.cluster import cluster_folders
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import RackspanError


def ls(output: FormatOption = Format.TABLE) -> None:
    """List the clusters of this machine's user."""
    apart: list[str] = []
    here: list[str] = []
    for name in cluster_folders.names():
        (apart if _has_own_network(name) else here).append(name)
    with ThreadPoolExecutor(8) as pool:  # one that does not answer keeps nobody else waiting
        rows = list(pool.map(_row, here))
    rows += [_row(name) for name in apart]
    if output is not Format.TABLE:
        data(rows, output)
    elif rows:
        columns = ("CLUSTER", "HEALTH", "RUNNING", "NODES", "DISTRIBUTION", "ERROR")
        keys = ("name", "health", "running", "nodes", "distribution", "why")
        out.print(table(columns, [[r.get(key) for key in keys] for r in rows]))
    else:
        err.print("no cluster found")


def _row(name: str) -> dict[str, object]:
    try:
        now = KafkaCluster.open(name).status(brief=True)
    except RackspanError as e:
        return {"name": name, "health": "unreadable", "why": e.brief}
    return {
        "name": name,
        "health": now.health,
        "running": sum(n.state == "running" for n in now.nodes),
        "nodes": len(now.nodes),
        "distribution": now.distribution,
        "bootstrap": now.bootstrap,
    }


def _has_own_network(name: str) -> bool:
    """These are asked last, and not in threads: an ordinary user who entered a network cannot leave it again."""
    try:
        return KafkaCluster.open(name).state.spec.backend == "netns"
    except RackspanError:
        return False
