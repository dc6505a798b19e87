"""The cluster spec: what a user declares, validated before anything is started."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, field_validator, model_validator

from harness.common.validation import Strict, read_yaml, unknown, validated
from harness.spec.inventory import Machine, assign
from harness.spec.links import Link, resolve
from harness.spec.node_names import broker_names, controller_names
from harness.spec.profiles import Profile

NAME = r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?"
HEAP = r"[1-9][0-9]{0,6}[mg]"
DOCKER_RACKS = 10  # of one cluster; 50 clusters then fit in the range of addresses

# Keys that follow from the plan of the cluster; a spec that sets them would contradict it.
OWN_KEYS = frozenset(
    {
        "node.id",
        "broker.id",
        "process.roles",
        "broker.rack",
        "listeners",
        "advertised.listeners",
        "controller.listener.names",
        "controller.quorum.voters",
        "controller.quorum.bootstrap.servers",
        "inter.broker.listener.name",
        "listener.security.protocol.map",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
    }
)

Settings = dict[str, str]


def _as_settings(value: object) -> object:
    """Kafka settings are text; YAML's numbers and booleans are turned into the text that Kafka reads."""
    if not isinstance(value, dict):
        return value
    return {key: str(v).lower() if isinstance(v, bool) else str(v) for key, v in value.items() if v is not None}


def _refuse_own(settings: Settings) -> Settings:
    own = sorted(OWN_KEYS & settings.keys())
    if own:
        raise ValueError(f"{', '.join(own)} follows from the plan of the cluster and cannot be set here")
    return settings


class Heap(Strict):
    """Heap sizes of the JVMs, with unit: 512m, 2g."""

    broker: str = Field("512m", pattern=f"^{HEAP}$")
    controller: str = Field("256m", pattern=f"^{HEAP}$")


class NodeOverride(Strict):
    """The differences of one node.

    `rack: ""` gives a broker no broker.rack at all; it stays in the rack it is placed in. `distribution` is for a node
    that runs another one than the cluster, as in an upgrade.
    """

    rack: str | None = Field(None, pattern=rf"^({NAME})?$")
    settings: Settings = Field(default_factory=dict)
    heap: str | None = Field(None, pattern=f"^{HEAP}$")
    distribution: str | None = None

    _text = field_validator("settings", mode="before")(_as_settings)
    _own = field_validator("settings")(_refuse_own)


class ClusterSpec(Strict):
    """A cluster: racks with their brokers, controllers, the distribution, settings."""

    apiVersion: Literal["rackspan/v1"] = "rackspan/v1"
    name: str = Field("rackspan", pattern=f"^{NAME}$", description="names the cluster's folder and its state")
    distribution: str = Field("rackspan", description="rackspan, stock, or the path of an unpacked distribution")
    racks: dict[str, int] = Field(
        default_factory=lambda: {"a": 2, "b": 2, "c": 2}, description='brokers per rack; also as text: "a:2,b:2,c:2"'
    )
    backend: Literal["local", "netns", "ssh", "docker"] = Field(
        default="local",
        description="local: processes on loopback addresses; netns: hosts with networks of their own; "
        "ssh: the machines of an inventory; docker: containers",
    )
    hosts: tuple[Machine, ...] = Field(
        default=(), description="machines for the backend ssh; `--inventory FILE` reads them from a file"
    )
    links: dict[str, Link] = Field(
        default_factory=dict,
        description='round-trip times between racks, as {default: 2ms, a-c: {rtt: 20ms, jitter: 1ms, loss: "0.1%"}}',
    )
    controllers: int = Field(3, ge=1, le=9, description="dealt over the racks in turn")
    profile: Profile = Field("fast-failover", description="fault-detection times: tuned for tests, or Kafka's own")
    jvm: Literal["quick", "full"] = Field(
        "quick", description="quick: fast start, first compiler only; full: all of it"
    )
    metrics: bool = Field(True, description="run the JMX exporter in every node")
    settings: Settings = Field(default_factory=dict, description="server.properties of every node")
    broker: Settings = Field(default_factory=dict, description="server.properties of the brokers")
    controller: Settings = Field(default_factory=dict, description="server.properties of the controllers")
    debug: list[Annotated[str, Field(pattern=r"^[\w.$]+(=[\w ]+)?$")]] = Field(
        default_factory=list,
        description="Kafka loggers whose debug lines brokers write to logs/debug.log; LOGGER=TEXT for those of its "
        "trace lines that contain a text",
    )
    users: tuple[Annotated[str, Field(pattern="^[a-z][a-z0-9]{0,19}$")], ...] = Field(
        default=(),
        description="brokers also listen on port 9094 over SASL_SSL, for these users and with access control; "
        "who comes without encryption may do everything",
    )
    features: dict[str, int] = Field(default_factory=dict, description="feature levels given when storage is formatted")
    heap: Heap = Heap()  # type: ignore[call-arg]
    nodes: dict[str, NodeOverride] = Field(default_factory=dict, description="overrides by node name")

    _text = field_validator("settings", "broker", "controller", mode="before")(_as_settings)
    _own = field_validator("settings", "broker", "controller")(_refuse_own)

    @field_validator("links", mode="before")
    @classmethod
    def _links_from_text(cls, value: object) -> object:
        """A link given as text alone is a round-trip time."""
        if not isinstance(value, dict):
            return value
        return {str(key): {"rtt": link} if isinstance(link, str) else link for key, link in value.items()}

    @field_validator("racks", mode="before")
    @classmethod
    def _racks_from_text(cls, value: object) -> object:
        return parse_racks(value) if isinstance(value, str) else value

    @field_validator("racks")
    @classmethod
    def _racks_in_range(cls, racks: dict[str, int]) -> dict[str, int]:
        if not 1 <= len(racks) <= 200:
            raise ValueError(f"1 to 200 racks are possible, not {len(racks)}")
        for rack, brokers in racks.items():
            if not re.fullmatch(NAME, rack):
                raise ValueError(
                    f"rack name {rack!r} must be lower-case letters, digits and '-', beginning with a letter"
                )
            if not 0 <= brokers <= 99:
                raise ValueError(f"rack {rack} has {brokers} brokers; 0 to 99 are possible")
        if sum(racks.values()) == 0:
            raise ValueError("no rack has a broker")
        return racks

    @model_validator(mode="after")
    def _links_fit_racks(self) -> ClusterSpec:
        try:
            resolve(self.links, list(self.racks))
        except ValueError as e:
            raise ValueError(f"links: {e}") from None
        if self.links and self.backend != "netns":
            raise ValueError(f"links: the backend {self.backend} cannot delay; give `backend: netns`")
        if self.backend == "docker" and len(self.racks) > DOCKER_RACKS:
            raise ValueError(f"racks: the backend docker has room for {DOCKER_RACKS}, not {len(self.racks)}")
        return self

    @model_validator(mode="after")
    def _hosts_fit_nodes(self) -> ClusterSpec:
        if self.hosts and self.backend != "ssh":
            raise ValueError(f"hosts: the backend {self.backend} makes its own; give `backend: ssh`")
        if self.backend == "ssh":
            if not self.hosts:
                raise ValueError("hosts: the backend ssh needs machines; give `--inventory FILE`")
            try:
                assign(self.racks, self.controllers, self.hosts)
            except ValueError as e:
                raise ValueError(f"hosts: {e}") from None
        return self

    @model_validator(mode="after")
    def _overrides_fit_nodes(self) -> ClusterSpec:
        brokers, controllers = broker_names(self.racks), controller_names(self.controllers)
        for name, override in self.nodes.items():
            if name not in brokers + controllers:
                raise ValueError(f"nodes.{name}: {unknown(name, brokers + controllers, 'node')}")
            if name in controllers and override.rack is not None:
                raise ValueError(f"nodes.{name}: a controller has no broker.rack")
        return self

    def to_yaml(self) -> str:
        """The spec as YAML, every default written out."""
        return yaml.safe_dump(self.model_dump(), sort_keys=False)


def parse_racks(text: str) -> dict[str, int]:
    """Racks from the short form "a:2,b:2,c:2". Raises ValueError that shows the part it cannot read."""
    racks: dict[str, int] = {}
    for part in text.split(","):
        match = re.fullmatch(rf"\s*({NAME})\s*:\s*([0-9]{{1,2}})\s*", part)
        if match is None:
            raise ValueError(f"cannot read {part.strip()!r} as RACK:BROKERS, as in a:2,b:2,c:2")
        if match[1] in racks:
            raise ValueError(f"rack {match[1]} is named twice")
        racks[match[1]] = int(match[3])
    return racks


def parse(data: object, *, where: str = "the spec") -> ClusterSpec:
    """A spec from plain data.

    Raises RackspanError (exit code 2) that names every bad key, and the nearest known one.
    """
    return validated(
        ClusterSpec,
        data,
        where=where,
        what="cluster spec",
        begin="begin with `apiVersion: rackspan/v1` and `racks: {a: 2, b: 2, c: 2}`",
        do="correct it; `rackspan up --schema` prints all keys with their meaning",
    )


def load(path: Path) -> ClusterSpec:
    """A spec from a YAML file; `-` reads standard input. Raises RackspanError (exit code 2)."""
    return parse(read_yaml(path, "spec"), where=str(path))


def json_schema() -> str:
    """The JSON schema of a spec, for editors."""
    return json.dumps(ClusterSpec.model_json_schema(), indent=2)
