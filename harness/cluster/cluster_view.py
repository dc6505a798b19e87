"""View of a cluster over the Kafka protocol: members, quorum, leaders, in-sync replicas."""

from __future__ import annotations

import logging
import math
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from harness.common.errors import RackspanError
from harness.common.wait import describe

logging.getLogger("kafka").setLevel(logging.CRITICAL)  # each refused connection would be a line on the user's terminal


@dataclass(frozen=True)
class Partition:
    """A partition: leader is -1 while there is none."""

    topic: str
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True)
class Voter:
    """A controller in the eyes of the quorum's leader: `silent_ms` since it last fetched (0 for the leader, -1
    never).
    """

    id: int
    silent_ms: int


@dataclass(frozen=True)
class View:
    """The cluster as one broker sees it: racks by id of the registered brokers that are not fenced."""

    racks: dict[int, str]
    leader: int
    voters: tuple[Voter, ...]
    partitions: tuple[Partition, ...] = field(repr=False)

    def led_by(self, broker: int) -> int:
        """Number of partitions that the broker leads."""
        return sum(p.leader == broker for p in self.partitions)

    def replicas_of(self, broker: int) -> tuple[int, int]:
        """Number of the broker's replicas that are in sync, and of all of them."""
        mine = [p for p in self.partitions if broker in p.replicas]
        return sum(broker in p.isr for p in mine), len(mine)

    @property
    def under_replicated(self) -> list[Partition]:
        """Partitions whose in-sync replicas are not all replicas."""
        return [p for p in self.partitions if len(p.isr) < len(p.replicas)]

    @property
    def leaderless(self) -> list[Partition]:
        """Partitions without a leader."""
        return [p for p in self.partitions if p.leader < 0]


def view(endpoints: Iterable[str], seconds: float = 3.0, limit: float = math.inf) -> View:
    """Asks the first of the brokers that answers: each for some seconds, and no other one after `limit`.

    Raises RackspanError with what each of them did.
    """
    tried: list[str] = []
    started = time.monotonic()
    for endpoint in endpoints:
        if time.monotonic() - started > limit:
            break
        try:
            return _ask(endpoint, seconds)
        except Exception as e:  # the client raises errors of many kinds; the next broker may still answer
            tried.append(f"{endpoint}: {e.strerror if isinstance(e, OSError) and e.strerror else describe(e)}")
    raise RackspanError(
        "no broker answers",
        observed="; ".join(tried) or "no broker process runs",
        do="start one with `rackspan start NODE`",
    )


def answers(address: str, port: int, seconds: float = 0.5) -> bool:
    """True if something accepts connections there."""
    try:
        socket.create_connection((address, port), timeout=seconds).close()
    except OSError:
        return False
    return True


def settings(
    endpoints: Iterable[str], topics: Iterable[str], names: Sequence[str], seconds: float = 3.0
) -> dict[str, dict[str, str]]:
    """The values in force of settings by topic and name, without those that the cluster does not have; asks the first
    of the brokers that answers, and returns nothing where none does.
    """
    wanted = [ConfigResource(ConfigResourceType.TOPIC, topic, dict.fromkeys(names)) for topic in topics]
    for endpoint in endpoints if wanted else ():
        with suppress(Exception):  # as in `view`
            with _client(endpoint, seconds) as client:
                found = client.describe_configs(wanted, config_filter="all").get("topic", {})
            return {
                topic: {name: values[name]["value"] for name in names if name in values}
                for topic, values in found.items()
            }
    return {}


def _ask(endpoint: str, seconds: float) -> View:
    with _client(endpoint, seconds) as client:
        return parse(client.describe_cluster(), client.describe_metadata_quorum(), client.describe_topics())


@contextmanager
def _client(endpoint: str, seconds: float) -> Iterator[Any]:
    # The client itself would try again and again until its time is over; a refused connection is an answer.
    address, _, port = endpoint.rpartition(":")
    socket.create_connection((address, int(port)), timeout=seconds).close()
    ms = int(seconds * 1000)
    client = KafkaAdminClient(
        bootstrap_servers=endpoint,
        client_id="rackspan",
        request_timeout_ms=ms,
        bootstrap_timeout_ms=ms,
    )
    _ask_only(client, address, int(port))
    try:
        yield client
    finally:
        client.close()


def _ask_only(client: KafkaAdminClient, address: str, port: int) -> None:
    """Keeps the client from asking another broker that it has heard of, which may hang."""
    known = client._manager.cluster.brokers()
    requested = [b.node_id for b in known if (b.host, b.port) == (address, port)]
    if requested:
        client._manager.least_loaded_node = lambda: requested[0]


def parse(cluster: dict[str, Any], quorum: dict[str, Any], topics: list[dict[str, Any]]) -> View:
    """A view from the answers to DescribeCluster (or Metadata), DescribeQuorum and Metadata."""
    log = quorum["topics"][0]["partitions"][0]
    leader = log["leader_id"]
    now = max((v["last_caught_up_timestamp"] for v in log["current_voters"] if v["replica_id"] == leader), default=-1)
    voters = tuple(
        Voter(v["replica_id"], 0 if v["replica_id"] == leader else _silent(now, v["last_fetch_timestamp"]))
        for v in log["current_voters"]
    )
    partitions = tuple(
        Partition(t["name"], p["partition_index"], p["leader_id"], tuple(p["replica_nodes"]), tuple(p["isr_nodes"]))
        for t in topics
        for p in t["partitions"]
    )
    # The client requires fenced brokers too: registered, but not yet (or no more) alive in the controller's eyes.
    alive = [b for b in cluster["brokers"] if not b.get("is_fenced", False)]
    racks = {b["node_id"] if "node_id" in b else b["broker_id"]: b["rack"] or "" for b in alive}
    return View(racks, leader, voters, partitions)


def _silent(now: int, fetched: int) -> int:
    return -1 if fetched < 0 or now < 0 else max(0, now - fetched)
