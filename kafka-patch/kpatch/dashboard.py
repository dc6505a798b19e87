"""The Grafana dashboard of `config/monitoring/`, written by: gradle dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef

from kpatch import paths

FILE = paths.KAFKA_PATCH / "dist" / "config" / "monitoring" / "rackspan-dashboard.json"
_SELECTED = 'job=~"$job", rack=~"$rack"'
_TOPIC = f'{_SELECTED}, topic=~"$topic"'
_SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")


@dataclass(frozen=True)
class _Panel:
    """A panel: queries are expression and legend; a `number` shows the last value alone."""

    title: str
    description: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    number: bool = False
    width: int = 8
    lowest: int = 0


def _manager(name: str) -> str:
    return f"sum by (rack) (kafka_server_ReplicaManager_{name}{{{_SELECTED}}})"


def _least(name: str) -> str:
    return f'min(kafka_controller_KafkaController_{name}{{job=~"$job", topic=""}})'


def _rate(name: str, labels: str = _SELECTED) -> str:
    return f"rate(kafka_{name}_total{{{labels}}}[$__rate_interval])"


_ERRORS = f'{_SELECTED}, request="Produce", error!="NONE"'
_CLUSTER = f'{_SELECTED}, topic=""'
_SLOW = f'{_SELECTED}, stat="99thPercentile"'
_PANELS = (
    _Panel(
        "Partitions that refuse writes", "Led partitions whose in-sync replicas are in too few racks.", "short",
        ((f"sum(kafka_server_ReplicaManager_UnderMinRackIsrPartitionCount{{{_SELECTED}}})", "too few racks"),
         (f"sum(kafka_server_ReplicaManager_UnderMinIsrPartitionCount{{{_SELECTED}}})", "too few replicas")), True, 6,
    ),
    _Panel(
        "Partitions one rack from refusal", "Led partitions that the loss of one more rack would stop.", "short",
        ((f"sum(kafka_server_ReplicaManager_AtMinRackIsrPartitionCount{{{_SELECTED}}})", "at the minimum"),), True, 6,
    ),
    _Panel(
        "Partitions without a leader", "No replica that may lead is up.", "short",
        (('max(kafka_controller_KafkaController_OfflinePartitionsCount{job=~"$job"})', "offline"),), True, 6,
    ),
    _Panel(
        "Nodes that answer", "Nodes of each rack that answer the monitoring.", "short",
        ((f"sum by (rack) (up{{{_SELECTED}}})", "rack {{rack}}"),), True, 6,
    ),
    _Panel(
        "Racks in sync", "Racks that the in-sync replicas of each topic's worst partition are in.", "short",
        ((f"min by (topic) (kafka_cluster_Partition_IsrRackCount{{{_TOPIC}}} > 0)", "{{topic}}"),),
    ),
    _Panel(
        "Partitions under min.insync.racks", "By the rack of their leaders.", "short",
        ((_manager("UnderMinRackIsrPartitionCount"), "under, leaders in {{rack}}"),
         (_manager("AtMinRackIsrPartitionCount"), "at, leaders in {{rack}}")),
    ),
    _Panel(
        "Under-replicated partitions", "Led partitions with replicas that are not in sync.", "short",
        ((_manager("UnderReplicatedPartitions"), "leaders in {{rack}}"),),
    ),
    _Panel(
        "Refused produce requests", "Answers with an error, by error; each retry counts.", "reqps",
        ((f"sum by (error) ({_rate('network_RequestMetrics_Errors', _ERRORS)})", "{{error}}"),
         (f"sum({_rate('server_ReplicaManager_RackCheckFailureRate')})", "refused for racks"),
         (f"sum({_rate('server_ReplicaManager_WouldRefuseRequestsPerSec', _CLUSTER)})", "shadow: would be refused")),
    ),
    _Panel(
        "Produce requests", "Answered requests of clients, by the acks that they sent.", "reqps",
        ((f"sum by (acks) ({_rate('server_ProduceAcks_Requests')})", "acks={{acks}}"),),
    ),
    _Panel(
        "Produce latency, 99th percentile", "From the append to the answer; the slowest broker.", "ms",
        ((f"max by (acks) (kafka_server_ProduceAcks_LatencyMs{{{_SLOW}}})", "acks={{acks}}"),),
    ),
    _Panel(
        "Acknowledged above the high watermark",
        "Records that acks=min.insync.replicas has acknowledged and an election could lose.", "short",
        ((_manager("AckedAboveHighWatermarkRecords"), "leaders in {{rack}}"),),
    ),
    _Panel(
        "Electable sets", "Partitions that have one, at level 2; of some no member may lead now.", "short",
        ((_manager("PartitionsWithElectableSet"), "leaders in {{rack}}"),
         ('max(kafka_controller_KafkaController_PartitionsWithoutElectableReplicaCount{job=~"$job"})',
          "no member leads")),
    ),
    _Panel(
        "Changes of in-sync replicas", "Replicas that leave and join, in a second.", "ops",
        ((f"sum({_rate('server_ReplicaManager_IsrShrinksPerSec')})", "leave"),
         (f"sum({_rate('server_ReplicaManager_IsrExpandsPerSec')})", "join")),
    ),
    _Panel(
        "Bytes in", "Bytes that clients wrote, by topic.", "Bps",
        ((f"sum by (topic) ({_rate('server_BrokerTopicMetrics_BytesInPerSec', _TOPIC)})", "{{topic}}"),),
    ),
    _Panel(
        "Racks that may be lost at once", "Whichever they are. -1: something is not available now.", "short",
        ((_least("MaxRackFailuresWithoutLosingAvailability"), "without losing availability"),
         (_least("MaxRackFailuresWithoutLosingData"), "without losing data")),
        lowest=-1,
    ),
    _Panel(
        "Active controllers", "One, but for the moment of an election.", "short",
        (('sum(kafka_controller_KafkaController_ActiveControllerCount{job=~"$job"})', "active"),),
    ),
    _Panel(
        "Level of rackspan.version", "The finalized level that each node has read.", "short",
        (('min(kafka_server_MetadataLoader_FinalizedLevel{job=~"$job", feature="rackspanVersion"})', "lowest"),
         ('max(kafka_server_MetadataLoader_FinalizedLevel{job=~"$job", feature="rackspanVersion"})', "highest")),
    ),
)  # fmt: skip


def text() -> str:
    """The dashboard as JSON, the same each time."""
    made = (
        dashboard.Dashboard("Rackspan")
        .uid("rackspan")
        .description("Racks in sync, refusals and acknowledgements of a cluster of Rackspan.")
        .tags(["kafka", "rackspan"])
        .refresh("30s")
        .time("now-1h", "now")
        .with_variable(dashboard.DatasourceVariable("datasource").type("prometheus").label("Data source"))
    )
    for name, series in (("job", "up"), ("rack", 'up{job=~"$job"}'), ("topic", "kafka_cluster_Partition_IsrRackCount")):
        query = dashboard.QueryVariable(name).label(name.capitalize()).query(f"label_values({series}, {name})")
        made = made.with_variable(query.datasource(_SOURCE).multi(True).include_all(True).all_value(".*"))
    for panel in _PANELS:
        made = made.with_panel(_built(panel))
    encoded: str = JSONEncoder(sort_keys=True, indent=2).encode(made.build())
    return f"{encoded}\n"


def write(file: Path = FILE) -> Path:
    """Writes the dashboard."""
    file.write_text(text())
    return file


def _built(panel: _Panel) -> timeseries.Panel | stat.Panel:
    made = stat.Panel() if panel.number else timeseries.Panel().min(panel.lowest)
    made.title(panel.title).description(panel.description).unit(panel.unit).datasource(_SOURCE)
    made.height(4 if panel.number else 8).span(panel.width)
    for number, (expression, legend) in enumerate(panel.queries):
        query = prometheus.Dataquery().expr(expression).legend_format(legend).ref_id(chr(ord("A") + number))
        made.with_target(query)
    return made
