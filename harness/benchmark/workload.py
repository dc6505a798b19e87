"""Workloads of the benchmark: which cluster, which modes, how they take turns, what is broken meanwhile. Pure data."""

from __future__ import annotations

from collections.abc import Container
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from harness.backends import BACKENDS
from harness.common.errors import environment_error, usage_error
from harness.common.paths import project_root
from harness.common.validation import Strict, read_yaml, unknown, validated
from harness.hosts.host import Capability
from harness.spec.cluster_spec import NAME, ClusterSpec
from harness.spec.links import LinkState, resolve
from harness.spec.replica_assignment import assignment
from harness.spec.topology import Node, plan

SHIPPED = project_root() / "campaigns"
Role = Literal["candidate", "baseline", "control", "least", "stock", "stock-control", "unaffected", "other"]


class Mode(Strict):
    """One way to write: a distribution, an acks value, topic settings."""

    name: str = Field(pattern="^[a-z][a-z0-9-]{0,30}$", description="names its topic and its client")
    role: Role = Field(
        "other",
        description="candidate is compared with baseline; control: the baseline once more; least: acks=1, the least "
        "that a write can take; stock: the baseline on the unpatched distribution; stock-control: that once more; "
        "unaffected: the candidate on a topic without replicas on the brokers that the fault takes away: as much "
        "processor time is free, and nothing is broken",
    )
    label: str = Field("", description="how the report calls it; by default made of the values below")
    distribution: str = Field("rackspan", description="rackspan, stock, or the path of an unpacked distribution")
    level: int | None = Field(
        None, ge=1, description="level of rackspan.version of its cluster; by default that of a new cluster"
    )
    acks: str = "all"
    topic: dict[str, str] = Field(default_factory=dict, description="settings of its topic, over the workload's")

    @property
    def recorded_role(self) -> str:
        """Its role, which no other mode has; the name of one that has no role of its own."""
        return self.name if self.role == "other" else self.role

    @property
    def cluster(self) -> tuple[str, int | None]:
        """Distribution and level: modes with the same share a cluster."""
        return self.distribution, self.level

    @property
    def shown(self) -> str:
        """Name of the mode in reports."""
        level = [] if self.level is None else [f"level {self.level}"]
        parts = [self.distribution, *level, f"acks={self.acks}", *(f"{k}={v}" for k, v in self.topic.items())]
        return self.label or " ".join(parts)


class TopicPlan(Strict):
    """The topic, which is the same for every mode."""

    partitions: int = Field(1, ge=1, le=100)
    replication: int = Field(3, ge=1, le=9)
    leaders: list[str] = Field(description="racks whose brokers lead")
    settings: dict[str, str] = Field(default_factory=dict)


class Load(Strict):
    """Records per second, bytes of a value. Open loop: no record waits for the answer of another one."""

    rate: float = Field(gt=0, le=100_000)
    size: int = Field(200, ge=64, le=1_000_000)
    arrivals: Literal["fixed", "poisson"] = Field(
        "fixed",
        description="due times evenly spaced, or of a Poisson process drawn by the run's seed, with the same gaps for "
        "all modes of a round: even spacing can stay in step with the followers' fetches",
    )
    connections: int = Field(
        1,
        ge=1,
        le=100,
        description="producers that share the rate: a broker answers one request of a connection after the other, so "
        "each must send seldom enough that its records do not wait for one another",
    )
    unanswered_kib: int | None = Field(
        None,
        ge=64,
        le=1_000_000,
        description="makes it a closed loop: each producer waits while so much of what it sent has no answer, as "
        "kafka-producer-perf-test does at full speed",
    )


class BlockFault(Strict):
    """A fault of some brokers in every block; `recover`: how long a mode keeps sending after it is healed."""

    how: Literal["pause", "kill"]
    target: str = Field(description="a broker such as c1, or a rack such as rack:c")
    seconds: float = Field(20, gt=0, le=600)
    recover: float = Field(3, ge=0, le=600)


class Stalls(Strict):
    """Followers that hang for a moment, each at random times of its own, in all that is measured."""

    nodes: list[str] = Field(min_length=1, description="brokers that only follow")
    seconds: float = Field(0.05, gt=0, le=10)
    every: float = Field(gt=0, le=3600, description="mean seconds from the end of one stall of a node to its next")


class Ramp(Strict):
    """Each block goes through these rates, from the first that is beyond what its mode can do on not further.

    Beyond: fewer than `answered` of the records due are answered meanwhile, the p99 latency is above `times` that of
    the first rate, or the send lag above the workload's limit.
    """

    rates: list[float] = Field(min_length=2, description="records per second, rising; each lasts blocks.seconds")
    answered: float = Field(0.9, gt=0, le=1)
    times: float = Field(10, gt=1)

    @field_validator("rates")
    @classmethod
    def _rising(cls, value: list[float]) -> list[float]:
        if value[0] <= 0 or any(b <= a for a, b in pairwise(value)):
            raise ValueError("each rate must be above the one before")
        return value


class Blocks(Strict):
    """Seconds: `seconds` are measured, `settle` before them and `warmup` before all are not."""

    rounds: int = Field(10, ge=1, le=1000, description="in each round every mode has one block")
    spare: int = Field(4, ge=0, le=1000, description="at most so many rounds more, one for each with a invalid block")
    seconds: float = Field(20, gt=0, le=3600)
    settle: float = Field(1, ge=0, le=600)
    warmup: float = Field(20, ge=0, le=3600)


class Limits(Strict):
    """Limits of a valid block: beyond one of these it measures the machine rather than Kafka."""

    send_lag_p99_ms: float = Field(10, gt=0)
    cpu_busy: float = Field(0.9, gt=0, le=1)
    steal: float = Field(0.05, ge=0, le=1)
    rtt_off: float = Field(0.10, gt=0, le=1, description="share by which a measured round-trip time may be off")


class Workload(Strict):
    """A benchmark, with all defaults filled in."""

    apiVersion: Literal["rackspan/v1"] = "rackspan/v1"
    name: str = Field(pattern=f"^{NAME}$")
    about: str = Field("", description="one sentence for the report")
    cluster: ClusterSpec = Field(description="its name and distribution follow from the workload and its modes")
    topic: TopicPlan
    load: Load
    modes: list[Mode] = Field(min_length=2)
    blocks: Blocks = Blocks()  # type: ignore[call-arg]
    fault: BlockFault | None = None
    stalls: Stalls | None = None
    ramp: Ramp | None = None
    consume: bool = Field(False, description="each client reads its topic as well: from due until a consumer had it")
    record: Literal["records", "histogram"] = Field(
        "records", description="keep every record, or counts of latencies by block: for long campaigns"
    )
    oracle: bool = Field(False, description="log when followers' fetches arrive: what an ideal quorum would have done")
    limits: Limits = Limits()  # type: ignore[call-arg]

    @field_validator("modes", "topic", mode="before")
    @classmethod
    def _settings_as_text(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return _text(value, "settings")
        return [_text(v, "topic") for v in value] if isinstance(value, list) else value

    @model_validator(mode="after")
    def _fits(self) -> Workload:
        racks = list(self.cluster.racks)
        for rack in self.topic.leaders:
            if rack not in racks:
                raise ValueError(f"topic.leaders: {unknown(rack, racks, 'rack')}")
        brokers = sum(self.cluster.racks.values())
        if self.topic.replication > brokers:
            raise ValueError(
                f"topic.replication: {self.topic.replication} replicas need as many brokers, not {brokers}"
            )
        for what, values in (("name", [m.name for m in self.modes]), ("label", [m.shown for m in self.modes])):
            twice = sorted({v for v in values if values.count(v) > 1})
            if twice:
                raise ValueError(f"modes: two have the {what} {twice[0]!r}")
        roles = [m.role for m in self.modes]
        twice = sorted({r for r in roles if r != "other" and roles.count(r) > 1})
        if twice:
            raise ValueError(f"modes: two have the role {twice[0]!r}")
        for role in ("candidate", "baseline"):
            if roles.count(role) != 1:
                raise ValueError(f"modes: exactly one must have the role {role!r}, not {roles.count(role)}")
        if self.fault is None and "unaffected" in roles:
            raise ValueError("modes: 'unaffected' is the control of a `fault`, and there is none")
        if self.fault is not None:
            nodes = plan(self.cluster).brokers
            targets = [*(n.name for n in nodes), *(f"rack:{rack}" for rack in racks)]
            if self.fault.target not in targets:
                raise ValueError(f"fault.target: {unknown(self.fault.target, targets, 'broker or rack')}")
            led = [n.name for n in self.faulted(nodes) if n.rack in self.topic.leaders]
            if led and "unaffected" in roles:
                raise ValueError(f"modes: {', '.join(led)} leads partitions; no topic is unaffected by the fault")
            if led and self.fault.how == "pause":
                raise ValueError(f"fault.target: {', '.join(led)} leads partitions; name brokers that only follow")
        if self.stalls is not None:
            following = [n.name for n in plan(self.cluster).brokers if n.rack not in self.topic.leaders]
            for name in self.stalls.nodes:
                if name not in following:
                    raise ValueError(f"stalls.nodes: {unknown(name, following, 'broker that only follows')}")
        if self.record == "histogram" and (self.fault or self.oracle):
            raise ValueError("record: histogram keeps no single records, which `fault` and `oracle` need")
        if self.load.arrivals == "poisson" and self.load.unanswered_kib is not None:
            raise ValueError("load.arrivals: a closed loop (`unanswered_kib`) sends when there is room, not when drawn")
        if self.ramp is not None and self.record != "histogram":
            raise ValueError("ramp: it needs `record: histogram`, since it sends as much as it can")
        return self

    def faulted(self, brokers: tuple[Node, ...]) -> list[Node]:
        """The brokers that the fault takes away."""
        if self.fault is None:
            return []
        return [n for n in brokers if self.fault.target in (n.name, f"rack:{n.rack}")]

    @property
    def leaders_fail(self) -> bool:
        """True if the fault takes away leaders, so that other replicas become leaders."""
        return any(n.rack in self.topic.leaders for n in self.faulted(plan(self.cluster).brokers))

    def replicas(self, brokers: tuple[Node, ...], without: Container[int] = ()) -> list[list[int]]:
        """Replicas of each partition, leader first, racks in turn; fewer where some brokers shall have none."""
        leading = {n.id for n in brokers if n.rack in self.topic.leaders}
        placed = [ids[: self.topic.replication] for ids in assignment(brokers) if ids[0] in leading]
        kept = [[broker for broker in ids if broker not in without] for ids in placed]
        return list(islice(cycle(kept), self.topic.partitions))

    def on(self, backend: str) -> Workload:
        """A copy for another backend. Raises RackspanError (exit code 4) if that one cannot do what it needs."""
        known = BACKENDS.get(backend)
        if known is None:
            raise usage_error(
                f"backend {backend!r} not found", observed=unknown(backend, list(BACKENDS), "backend"), do="name one"
            )
        if self.cluster.links and Capability.DELAY not in known.capabilities:
            able = [name for name, kind in BACKENDS.items() if Capability.DELAY in kind.capabilities]
            raise environment_error(
                f"workload {self.name} cannot run on the backend {backend}",
                observed=f"it requires delays between racks, and {backend} has none",
                do=f"run it with --backend {' or '.join(able)}",
            )
        return self.model_copy(update={"cluster": self.cluster.model_copy(update={"backend": backend})})

    def rtt_ms(self) -> dict[str, float]:
        """Round-trip times from the first leading rack to the others, as declared; empty where none are."""
        if not self.cluster.links:
            return {}
        racks, own = list(self.cluster.racks), self.topic.leaders[0]
        state = LinkState(racks=racks, links=resolve(self.cluster.links, racks))
        return {rack: state.link(own, rack).ms for rack in racks if rack != own}

    def changed(self, *, rounds: int | None, seconds: float | None, warmup: float | None) -> Workload:
        """A copy with other lengths; a fault then lasts as long as a block, and there are no spare rounds."""
        given = {"rounds": rounds, "seconds": seconds, "warmup": warmup, "spare": None if rounds is None else 0}
        blocks = self.blocks.model_copy(update={k: v for k, v in given.items() if v is not None})
        fault = self.fault
        if fault is not None and seconds is not None:
            fault = fault.model_copy(update={"seconds": seconds})
        return self.model_copy(update={"blocks": blocks, "fault": fault})


def load(name: str) -> Workload:
    """A shipped workload by name, or one in a file. Raises RackspanError (exit code 2)."""
    path, data = document(name)
    return checked(data, str(path))


def document(name: str) -> tuple[Path, object]:
    """The file of a shipped workload or campaign by name, or of any by path, and what it says.

    Raises RackspanError (exit code 2).
    """
    path = SHIPPED / f"{name}.yaml" if name in shipped() else Path(name)
    if path.suffix not in (".yaml", ".yml"):
        raise usage_error(
            f"workload {name!r} not found",
            observed=unknown(name, shipped(), "workload"),
            do="name one of them, or the path of a YAML file",
        )
    return path, read_yaml(path, "workload")


def checked(data: object, where: str) -> Workload:
    """The workload that a file or a part of a campaign describes. Raises RackspanError (exit code 2)."""
    return validated(
        Workload,
        data,
        where=where,
        what="workload",
        begin="begin with `apiVersion: rackspan/v1`, `name:` and `cluster:`, as the files in campaigns/ do",
        do="correct it; harness/benchmark/workload.py says what each key means",
    )


def shipped() -> list[str]:
    """Names of the workloads and campaigns that come with the project."""
    return sorted(p.stem for p in SHIPPED.glob("*.yaml"))


def _text(data: Any, key: str) -> Any:
    """Kafka's settings are text; YAML's numbers and booleans are turned into the text that Kafka reads."""
    if not isinstance(data, dict) or not isinstance(data.get(key), dict):
        return data
    return {**data, key: {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in data[key].items()}}
