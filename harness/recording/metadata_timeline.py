"""Leaders and in-sync replicas over time, from the metadata log of a controller, as rows of a run folder."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.node import KafkaNode
from harness.common.errors import RackspanError
from harness.hosts.host import exports
from harness.recording.degrades import DEGRADE, Degrades, record_ledger
from harness.recording.log_files import METADATA
from harness.recording.segment_files import longest_metadata_log, segment_names
from harness.run_folder.run_folder import RunFolder, arrow_schema
from harness.spec.rackspan_level import FEATURE

Row = dict[str, Any]

_LINE = re.compile(r"^\| offset: (\d+) CreateTime: (\d+) .*? payload: (\{.*\})$")
_TOPIC, _CLUSTER_DEFAULT = 2, ""
_RACKS, _REPLICAS = "min.insync.racks", "min.insync.replicas"
_NO_CHANGE = -2


def read_timeline(cluster: KafkaCluster, run: RunFolder, topics: Iterable[str]) -> int:
    """Files the changes of these topics' partitions; returns how many. Raises RackspanError."""
    node = longest_metadata_log(cluster)
    text, complete = _dump(node)
    rows, degrades, level, recreated = timeline(text, set(topics))
    if degrades:
        run.event("note", "degrades", "point", {"degrades": degrades})
        record_ledger(cluster, run, sorted({one["topic"] for one in degrades}))
    if rows:
        run.add_partitions(pa.Table.from_pylist(rows, arrow_schema("partitions")), node.name)
    reported = {"node": node.name, "complete": complete, "level": level, "recreated": recreated}
    run.event("note", "partitions-read", "point", reported)
    return len(rows)


@dataclass(frozen=True)
class Record:
    """One record of the metadata log: time in ns since the epoch, type, and its fields."""

    t_ns: int
    kind: str
    data: Row


def records(cluster: KafkaCluster) -> list[Record]:
    """The records of the metadata log, as kafka-dump-log.sh decodes them. Raises RackspanError."""
    text, _ = _dump(longest_metadata_log(cluster))
    found = [(match, json.loads(match[3])) for match in map(_LINE.match, text.splitlines()) if match is not None]
    return [Record(int(match[2]) * 1_000_000, record["type"], record["data"]) for match, record in found]


def timeline(text: str, topics: set[str]) -> tuple[list[Row], list[Row], int, dict[str, int]]:
    """The rows that the output of kafka-dump-log.sh with the metadata decoder amounts to, the degrades, the lowest
    level of rackspan.version since the first of the topics was created, and when each topic was created that had been
    deleted before: its rows are those since then.
    """
    image = _Image(topics)
    rows = [row for line in text.splitlines() for row in image.apply(line)]
    rows = [row for row in rows if row["metadata_offset"] >= image.created[row["topic"]]]
    return rows, image.degrades.found, image.lowest_level, image.recreated


class _Image:
    """State of the cluster after the records so far, and the rows that each record brings."""

    def __init__(self, topics: set[str]) -> None:
        self._wanted = topics
        self._names: dict[str, str] = {}  # topic id -> name
        self._racks: dict[int, str] = {}
        self._settings: dict[tuple[str, str], str] = {}  # (topic or "", setting) -> value
        self._partitions: dict[tuple[str, int], Row] = {}
        self.degrades = Degrades()
        self.created: dict[str, int] = {}  # topic -> offset of the record that created it last
        self.recreated: dict[str, int] = {}  # topic -> time of that record in ns, where it was not the first
        self._level = self.lowest_level = 0

    def apply(self, line: str) -> Iterator[Row]:
        """Takes one line in; yields the rows that it brings."""
        match = _LINE.match(line)
        if match is None:
            return
        record = json.loads(match[3])
        data = record["data"]
        changed: list[tuple[str, int]] = []
        match record["type"]:
            case "TOPIC_RECORD":
                if self._wanted.isdisjoint(self._names.values()):
                    self.lowest_level = self._level
                self._names[data["topicId"]] = data["name"]
                if data["name"] in self._wanted and data["name"] in self.created:
                    self.recreated[data["name"]] = int(match[2]) * 1_000_000
                self.created[data["name"]] = int(match[1])
            case "FEATURE_LEVEL_RECORD" if data["name"] == FEATURE:
                self._level = data["featureLevel"]
                self.lowest_level = min(self.lowest_level, self._level)
            case "REMOVE_TOPIC_RECORD":
                name = self._names.pop(data["topicId"], "")
                self._partitions = {key: row for key, row in self._partitions.items() if key[0] != name}
                self._settings = {key: value for key, value in self._settings.items() if not name or key[0] != name}
            case "REGISTER_BROKER_RECORD":
                rack = data.get("rack") or ""
                if self._racks.get(data["brokerId"]) != rack:
                    self._racks[data["brokerId"]] = rack
                    changed = list(self._partitions)
            case "CONFIG_RECORD" if data["name"] in (_RACKS, _REPLICAS):
                changed = self._configure(data)
            case "CONFIG_RECORD" if data["name"] == DEGRADE and data["resourceName"] in self._wanted:
                default = self._setting(_CLUSTER_DEFAULT, _RACKS)
                self.degrades.change(data["resourceName"], data.get("value"), default, int(match[2]) * 1_000_000)
            case "PARTITION_RECORD" | "PARTITION_CHANGE_RECORD":
                changed = self._change(data, new=record["type"] == "PARTITION_RECORD")
        for key in changed:
            yield self._row(key, int(match[1]), int(match[2]) * 1_000_000)

    def _configure(self, data: Row) -> list[tuple[str, int]]:
        if data["resourceType"] != _TOPIC and data["resourceName"] != _CLUSTER_DEFAULT:
            return []  # of one broker only: these two settings are not counted there
        owner = data["resourceName"]
        if data.get("value") is None:
            self._settings.pop((owner, data["name"]), None)
        else:
            self._settings[owner, data["name"]] = data["value"]
        return [key for key in self._partitions if owner in (key[0], _CLUSTER_DEFAULT)]

    def _change(self, data: Row, *, new: bool) -> list[tuple[str, int]]:
        name = self._names.get(data["topicId"], "")
        if name not in self._wanted:
            return []
        key = (name, data["partitionId"])
        if new:
            self._partitions[key] = {
                "leader": data["leader"],
                "leader_epoch": data["leaderEpoch"],
                "partition_epoch": data["partitionEpoch"],
                "replicas": data["replicas"],
                "isr": data["isr"],
                "elr": data.get("eligibleLeaderReplicas") or [],
            }
            return [key]
        now = self._partitions[key]
        if data.get("leader", _NO_CHANGE) != _NO_CHANGE:
            now["leader"] = data["leader"]
            now["leader_epoch"] += 1
        now["partition_epoch"] += 1
        for field, reported in (("isr", "isr"), ("replicas", "replicas"), ("elr", "eligibleLeaderReplicas")):
            if data.get(reported) is not None:
                now[field] = data[reported]
        return [key]

    def _row(self, key: tuple[str, int], offset: int, t_ns: int) -> Row:
        now = self._partitions[key]
        own = {name: now[name] for name in ("leader", "leader_epoch", "partition_epoch")}
        return own | {
            "metadata_offset": offset,
            "t_ns": t_ns,
            "topic": key[0],
            "partition": key[1],
            "isr": ",".join(map(str, now["isr"])),
            "elr": ",".join(map(str, now["elr"])),
            "isr_size": len(now["isr"]),
            "replicas": len(now["replicas"]),
            "isr_racks": self._span(now["isr"]),
            "replica_racks": self._span(now["replicas"]),
            "min_replicas": self._setting(key[0], _REPLICAS),
            "min_racks": self._setting(key[0], _RACKS),
        }

    def _span(self, brokers: list[int]) -> int:
        """Distinct racks; brokers without broker.rack share one, as the broker counts."""
        return len({self._racks[b] for b in brokers if b in self._racks})

    def _setting(self, topic: str, name: str) -> int:
        return int(self._settings.get((topic, name), self._settings.get((_CLUSTER_DEFAULT, name), "1")))


def _dump(node: KafkaNode) -> tuple[str, bool]:
    """Output of the distribution's own tool for the log, and whether that is all of it."""
    names = segment_names(node, METADATA)
    tool = [node.distribution.script("kafka-dump-log.sh"), "--cluster-metadata-decoder", "--files", ",".join(names)]
    script = f"cd {shlex.quote(node.data_dir)}/{METADATA} && {exports(node.tool_environment())}{shlex.join(tool)}"
    done = node.host.shell(script, seconds=120)
    if done.code != 0 or not names:
        raise RackspanError(
            f"cannot read the metadata log of {node.name}",
            observed=f"exit code {done.code}: {(done.err or done.out).strip()[-300:]}",
            do="see whether its data folder is complete",
        )
    return done.out, int(names[0].partition(".")[0]) == 0
