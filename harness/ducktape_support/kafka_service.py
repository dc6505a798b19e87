"""A cluster over racks as a ducktape service, around the same code that the `rackspan` command uses."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from ducktape.services.service import Service

from harness.backends.local import LocalHost
from harness.cluster.cluster_folders import names
from harness.cluster.cluster_view import answers
from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.lifecycle import remove
from harness.cluster.node import KafkaNode
from harness.cluster.security import client_file
from harness.cluster.waits import READY_SECONDS
from harness.common.errors import RackspanError
from harness.common.progress import Progress, Update
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.rack_cluster import nodes_by_type
from harness.hosts.host import Output, Process, ProcessState, exports
from harness.recording.log_errors import Allowed, error_lines, summary
from harness.recording.metrics import Sample, scrape, total
from harness.spec import inventory
from harness.spec.cluster_spec import ClusterSpec, parse
from harness.spec.topology import plan

LOG_FILES = ("server.log", "controller.log", "state-change.log", "console.log")

# Error lines of healthy clusters whose nodes are taken away on purpose.
ALLOWED = (
    Allowed(
        r"controller event queue overloaded|Exceptionally slow controller event",
        "the machine gave the controller no time for a while; brokers are fenced by rule, and tests see the ISR",
    ),
    Allowed(
        r"ControllerApis nodeId=\d+\] Unexpected error handling request RequestHeader\(apiKey=CONTROLLER_REGISTRATION",
        "a controller registers while the quorum elects its leader, gets that error, and tries again",
    ),
    Allowed(
        r"ControllerApis nodeId=\d+\] Unexpected error handling request RequestHeader\(apiKey=API_VERSIONS",
        "a controller that starts or ends listens without its Raft client (NullPointerException, as on stock)",
    ),
    Allowed(
        r"RaftManager id=\d+\] Graceful shutdown of RaftClient failed",
        "all controllers stop together, so that the last leader finds no quorum to hand over to",
    ),
    Allowed(
        r"Failed to load metadata from \S+ with epoch \d+ due to (Coordinator loader is closed|Stopped loading)",
        "all brokers stop together: one that is ending is given the coordinators of those that ended before",
    ),
    Allowed(
        r"Execution of UpdateImage\(.*\) failed due to EventProcessor is closed\.",
        "a coordinator that is ending is given one more image, and has no thread left to read it",
    ),
)

_numbers = count(1)


class LoggedProgress(Progress):
    """Steps as lines of the test's log."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger

    @contextlib.contextmanager
    def step(self, label: str) -> Iterator[Update]:
        yield lambda text: self._logger.debug("%s: %s", label, text)
        self._logger.info("%s", label)

    def note(self, text: str) -> None:
        self._logger.info("%s", text)


class KafkaRacks(Service):  # type: ignore[misc]  # ducktape has no types
    """One cluster; `kafka` is it once started.

    Its name carries this process' id, so that a later session knows it for a left-over.
    """

    logs = {  # noqa: RUF012  # ducktape reads a class attribute
        "logs": {"path": "logs", "collect_default": True},
        "config": {"path": "server.properties", "collect_default": True},
    }

    def __init__(self, context: Any, spec: ClusterSpec, allowed: Sequence[Allowed] = ()) -> None:
        self.spec = _on(spec, context.globals, f"test-{os.getpid()}-{next(_numbers)}")
        self.plan = plan(self.spec)
        self.allowed = (*ALLOWED, *allowed)
        self._kafka: KafkaCluster | None = None
        super().__init__(context, cluster_spec=nodes_by_type(n.rack for n in self.plan.nodes))

    @property
    def kafka(self) -> KafkaCluster:
        """The running cluster."""
        assert self._kafka is not None, "the service was not started"
        return self._kafka

    @property
    def bootstrap(self) -> str:
        """Bootstrap servers: all brokers but paused ones, which accept a client and then keep it waiting."""
        brokers = self.kafka.select("brokers")
        return ",".join(n.node.endpoint for n in brokers if n.look()[1] is not ProcessState.PAUSED)

    # ---- life, as ducktape calls it ------------------------------------------------------------------------------

    def start(self, **unused: Any) -> None:
        """Brings the cluster up and waits until it is ready. Raises RackspanError; logs are collected then too."""
        try:
            self._kafka = KafkaCluster.up(
                self.spec, seconds=READY_SECONDS, progress=LoggedProgress(self.logger), tied=True
            )
        finally:
            if self._kafka is None and self.spec.name in names():
                self._kafka = KafkaCluster.open(self.spec.name)
            if self._kafka is not None:
                self._bind(self._kafka)

    def stop(self, **unused: Any) -> None:
        """Ends at once what still runs; a test that got to its end has called `end` before."""
        if self._kafka is not None:
            self._kafka.kill("all")

    def clean(self, **unused: Any) -> None:
        """Removes the cluster's folder and whatever process is left of it."""
        remove(self.spec.name)

    # ---- for tests -------------------------------------------------------------------------------------------------

    def node(self, name: str) -> KafkaNode:
        """A node by name."""
        return self.kafka.node(name)

    def broker(self, broker_id: int) -> KafkaNode:
        """A broker by id."""
        return self.kafka.node(next(n.name for n in self.plan.brokers if n.id == broker_id))

    def running(self) -> list[KafkaNode]:
        """Brokers that run."""
        return [n for n in self.kafka.select("brokers") if n.look()[1] is ProcessState.RUNNING]

    def processes(self) -> dict[str, Process | None]:
        """Every node's process: pid and start time, which both change with a restart."""
        return {n.name: n.look()[0] for n in self.kafka.select("all")}

    def samples(self) -> list[Sample]:
        """Metrics of all running brokers, now."""
        return [s for n in self.running() for s in scrape(n.node)]

    def metric(self, name: str, **labels: str) -> float:
        """Sum of one metric over running brokers."""
        return total(self.samples(), name, **labels)

    def errors(self, request: str = "Produce") -> dict[str, int]:
        """Answers of that request by error code since the running brokers started, without NONE."""
        found: dict[str, int] = {}
        for s in self.samples():
            if s.name == "kafka_network_RequestMetrics_Errors_total" and s.labels.get("request") == request:
                error = s.labels["error"]
                found[error] = found.get(error, 0) + int(s.value)
        return {error: number for error, number in found.items() if number and error != "NONE"}

    def in_sync(self, topic: str) -> dict[int, set[int]]:
        """In-sync replicas by partition."""
        return {p.partition: set(p.isr) for p in self.kafka.view().partitions if p.topic == topic}

    def wait_in_sync(self, topic: str, replicas: set[int] | None = None, seconds: float = 30.0) -> None:
        """Waits until the in-sync replicas of all partitions are exactly these, or all replicas. Raises WaitTimeout."""

        def probe() -> bool | Pending:
            mine = [p for p in self.kafka.view().partitions if p.topic == topic]
            late = [p for p in mine if set(p.isr) != (set(p.replicas) if replicas is None else replicas)]
            if not mine or late or any(p.leader < 0 for p in mine):
                return Pending("; ".join(f"{topic}-{p.partition} led by {p.leader}, ISR {p.isr}" for p in late or mine))
            return True

        wanted = "all replicas" if replicas is None else str(sorted(replicas))
        wait_for(f"the ISR of {topic} to be {wanted}", probe, seconds)

    def tool(self, script: str, *args: str, seconds: float = 60.0, typed: str = "") -> str:
        """Output of one of Kafka's own tools, run on the first running broker's host. Raises RackspanError."""
        done = self.try_tool(script, *args, seconds=seconds, typed=typed)
        if done.code != 0:
            raise RackspanError(
                f"{script} {' '.join(args)} failed",
                observed=f"exit code {done.code}: {done.out}{done.err}",
                do="see above",
            )
        return done.out

    def try_tool(self, script: str, *args: str, seconds: float = 60.0, typed: str = "") -> Output:
        """The result of one of Kafka's own tools, whatever its exit code; `typed` is its standard input."""
        node = self.running()[0]
        command = [node.distribution.script(script), "--bootstrap-server", self.bootstrap, *args]
        run = f"printf %s {shlex.quote(typed)} | {shlex.join(command)}"
        return node.host.shell(exports(node.tool_environment()) + run, seconds=seconds)

    def as_user(self, user: str, script: str, *args: str, seconds: float = 60.0) -> Output:
        """The same over SASL_SSL as one of the spec's users, run where the test runs."""
        script = self.kafka.distribution.script(script)
        enter = ["--bootstrap-server", self.kafka.plan.secure_bootstrap, "--command-config"]
        command = [script, *enter, str(client_file(self.kafka.folder, user)), *args]
        own = LocalHost("driver", "", str(self.kafka.folder))
        environment = self.running()[0].jvm().tool_environment(str(self.kafka.folder / "tools"))
        return own.shell(exports(environment) + shlex.join(command), seconds=seconds)

    def logged(self, targets: str, pattern: str, files: Sequence[str] = LOG_FILES) -> list[str]:
        """Lines of these nodes' logs in which the pattern is found."""
        wanted = re.compile(pattern)
        texts = [n.host.read(f"{n.logs_dir}/{name}") for n in self.kafka.select(targets) for name in files]
        return [line for text in texts for line in text.splitlines() if wanted.search(line)]

    # ---- the end, which counts ---------------------------------------------------------------------------------------

    def end(self, seconds: float = 60.0) -> None:
        """Stops all nodes in order and checks what they leave. Raises AssertionError with everything that is wrong."""
        wrong: list[str] = []
        for status in self.kafka.status().nodes:
            if status.state == "failed":
                wrong.append(f"{status.node} had ended by itself: {status.error}")
        alive = self.running()
        try:
            self.kafka.stop("all", seconds=seconds)
        except RackspanError as e:
            wrong.append(e.brief)
        for n in alive:
            if n.host.shell(f"test -e {n.data_dir}/.kafka_cleanshutdown").code != 0:
                wrong.append(f"{n.name} did not shut down cleanly")
        left = self.kafka.backend.leftovers(str(self.kafka.folder))
        if left:
            wrong.append(f"processes left: {[p.pid for _, p in left]}")
        try:
            wait_for("ports to be closed", self._deaf, 10)
        except RackspanError as e:
            wrong.append(e.brief)
        errors = list(self._error_lines())
        if errors:
            wrong.append(f"error lines that are not allowed: {summary(errors)}")
        assert not wrong, f"cluster {self.spec.name} did not end well: " + "; ".join(wrong)

    def _deaf(self) -> bool | Pending:
        open_ports = [
            f"{n.name} on {n.node.address}:{port}"
            for n in self.kafka.select("all")
            for port in (n.node.port, n.node.metrics_port)
            if answers(n.node.address, port, seconds=0.2)
        ]
        return Pending(f"still open: {', '.join(open_ports)}") if open_ports else True

    def _error_lines(self) -> Iterator[tuple[str, str]]:
        for n in self.kafka.select("all"):
            observed: set[str] = set()  # the console repeats what the files have
            for name in LOG_FILES:
                for line in error_lines(n.host.read(f"{n.logs_dir}/{name}"), self.allowed):
                    if line not in observed:
                        yield f"{n.name}/{name}", line
                    observed.add(line)

    def _bind(self, kafka: KafkaCluster) -> None:
        waiting = list(self.nodes)
        for n in kafka.select("all"):
            slot = next(s for s in waiting if s.node_type == n.node.rack)
            waiting.remove(slot)
            slot.account.bind(n.host, n.name)


def _on(spec: ClusterSpec, wanted: Mapping[str, Any], name: str) -> ClusterSpec:
    """The spec under that name, on the backend that the globals of the session name. Raises RackspanError."""
    data = spec.model_dump(exclude_unset=True) | {"name": name, "backend": wanted.get("backend", spec.backend)}
    if "inventory" in wanted:
        data["hosts"] = inventory.load(Path(wanted["inventory"]))
    return parse(data, where="the cluster of the test")
