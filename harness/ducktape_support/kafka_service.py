"""A cluster over racks as a ducktape service, around the same code that the `rackspan` command uses."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from ducktape.services.service import Service
from ducktape.tests.test_context import TestContext

from harness.backends.local import LocalHost
from harness.cluster.cluster_folders import names
from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.lifecycle import remove
from harness.cluster.node import KafkaNode
from harness.cluster.security import client_file
from harness.cluster.waits import READY_SECONDS
from harness.common.errors import RackspanError
from harness.common.progress import Progress, Update
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.end_checks import (
    ALLOWED,
    LOG_FILES,
    Marks,
    errors_since,
    log_marks,
    shut_down,
    written_since,
)
from harness.ducktape_support.rack_cluster import nodes_by_type
from harness.ducktape_support.reuse import made_reusable
from harness.ducktape_support.shared_clusters import SharedCluster, SharedClusters
from harness.hosts.host import Output, Process, ProcessState, exports
from harness.recording.log_errors import Allowed, summary
from harness.recording.metrics import Sample, scrape, total
from harness.spec import inventory
from harness.spec.cluster_spec import ClusterSpec, parse
from harness.spec.topology import plan

# Stock Kafka 4.3.1 forgets them in the partition, but not in the index by broker: once such a topic is removed, the
# brokers that were eligible cannot register after a crash, and each attempt makes the active controller resign.
ELR_CLEARED = r"Removed ELRs from [1-9]\d* partitions"
IN_SYNC = "kafka_cluster_Partition_InSyncReplicasCount"  # of a leader
COUNTER = "_total"  # what the names of counters end with
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
    """One cluster; `kafka` is it once started. Counters count from that moment on, and so do the logs.

    A `shared` one is given back by `end`, as it was at first, and then serves another test of the session. One that is
    not, and each of a test that runs outside of a session, is this test's own; its name carries this process' id, so
    that a later session knows it for a left-over.
    """

    logs = {  # noqa: RUF012  # ducktape reads a class attribute
        "logs": {"path": "logs", "collect_default": True},
        "config": {"path": "server.properties", "collect_default": True},
    }

    def __init__(self, context: Any, spec: ClusterSpec, allowed: Sequence[Allowed] = (), shared: bool = False) -> None:
        self.spec = _on(spec, context.globals, f"test-{os.getpid()}-{next(_numbers)}")
        self.plan = plan(self.spec)
        self.allowed = (*ALLOWED, *allowed)
        self._kafka: KafkaCluster | None = None
        self._clusters = SharedClusters.of_session()
        self._sharing = shared and self._clusters is not None
        self._shared: SharedCluster | None = None  # while this test has it
        self._over = False  # given back: another test may have it
        self._marks: Marks = {}
        self._counters: dict[tuple[str, str, frozenset[tuple[str, str]]], float] = {}
        self._counted: dict[str, Process | None] = {}
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
        """Takes a cluster that is ready, or brings one up. Raises RackspanError; logs are collected then too."""
        if self._clusters is not None and self._sharing:
            self._take(self._clusters)
        else:
            self._bring_up()
        self._marks = log_marks(self.kafka)
        self._counted = self.processes()
        self._counters = (
            {_series(s): s.value for s in self._scraped() if s.name.endswith(COUNTER)} if self.spec.metrics else {}
        )

    def stop(self, **unused: Any) -> None:
        """Ends at once what still runs; a test that got to its end has called `end` before."""
        if self._kafka is not None and not self._over:
            self._kafka.kill("all")

    def clean(self, **unused: Any) -> None:
        """Removes the cluster's folder and whatever process is left of it."""
        if self._clusters is not None and self._shared is not None:
            self._clusters.discard(self._shared)
        elif not self._over:
            remove(self.spec.name)

    def _take(self, clusters: SharedClusters) -> None:
        shared = clusters.take(self.spec, self.context.test_id)
        self._shared = shared
        self._kafka = KafkaCluster.open(shared.name, LoggedProgress(self.logger))
        self._bind(self._kafka)
        if shared.failure is not None:
            raise shared.failure.error()
        self._kafka.backend.prepare()
        self._kafka.backend.enter()
        self.logger.info("cluster %s, before: %s", shared.name, ", ".join(shared.tests[:-1]) or "no test")

    def _bring_up(self) -> None:
        if self._clusters is not None:
            self._clusters.end_idle()
        try:
            self._kafka = KafkaCluster.up(
                self.spec, seconds=READY_SECONDS, progress=LoggedProgress(self.logger), tied=True
            )
        finally:
            if self._kafka is None and self.spec.name in names():
                self._kafka = KafkaCluster.open(self.spec.name)
            if self._kafka is not None:
                self._bind(self._kafka)

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
        """Metrics of all running brokers, now; counters since the test began, or since it restarted the broker."""
        now = self.processes()
        kept = {name for name, process in self._counted.items() if process is not None and now.get(name) == process}
        return [
            replace(s, value=s.value - self._counters.get(_series(s), 0.0)) if s.node in kept else s
            for s in self._scraped()
        ]

    def _scraped(self) -> list[Sample]:
        return [s for n in self.running() for s in scrape(n.node)]

    def metric(self, name: str, **labels: str) -> float:
        """Sum of one metric over running brokers."""
        return total(self.samples(), name, **labels)

    def errors(self, request: str = "Produce") -> dict[str, int]:
        """Answers of that request by error code since the test began, without NONE."""
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
        """Waits until the in-sync replicas of all partitions are exactly these, or all replicas, in the metadata and
        for their leaders, who may learn of a change later than the broker that is asked. Raises WaitTimeout.
        """

        def probe() -> bool | Pending:
            mine = [p for p in self.kafka.view().partitions if p.topic == topic]
            late = [p for p in mine if set(p.isr) != (set(p.replicas) if replicas is None else replicas)]
            if not mine or late or any(p.leader < 0 for p in mine):
                return Pending("; ".join(f"{topic}-{p.partition} led by {p.leader}, ISR {p.isr}" for p in late or mine))
            counted = {leader: scrape(self.broker(leader).node) for leader in {p.leader for p in mine}}
            for p in mine:
                found = total(counted[p.leader], IN_SYNC, topic=topic, partition=str(p.partition))
                if found != len(p.isr):
                    return Pending(f"{topic}-{p.partition} has ISR {p.isr}, its leader {p.leader} counts {found:.0f}")
            return True

        wanted = "all replicas" if replicas is None else str(sorted(replicas))
        wait_for(f"the ISR of {topic} to be {wanted}", probe, seconds, every=0.3)

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
        at = ("--bootstrap-server", self.bootstrap)
        return self.running()[0].tool(script, *at, *args, seconds=seconds, typed=typed)

    def as_user(self, user: str, script: str, *args: str, seconds: float = 60.0) -> Output:
        """The same over SASL_SSL as one of the spec's users, run where the test runs."""
        script = self.kafka.distribution.script(script)
        enter = ["--bootstrap-server", self.kafka.plan.secure_bootstrap, "--command-config"]
        command = [script, *enter, str(client_file(self.kafka.folder, user)), *args]
        own = LocalHost("driver", "", str(self.kafka.folder))
        environment = self.running()[0].jvm().tool_environment(str(self.kafka.folder / "tools"))
        return own.shell(exports(environment) + shlex.join(command), seconds=seconds)

    def logged(self, targets: str, pattern: str, files: Sequence[str] = LOG_FILES) -> list[str]:
        """Lines of these nodes' logs since the test began in which the pattern is found."""
        wanted = re.compile(pattern)
        texts = [written_since(self._marks, n, name) for n in self.kafka.select(targets) for name in files]
        return [line for text in texts for line in text.splitlines() if wanted.search(line)]

    # ---- the end, which counts ---------------------------------------------------------------------------------------

    def end(self) -> None:
        """Checks what the nodes logged; then gives a shared cluster back, or shuts the cluster down cleanly and checks
        that too. Raises AssertionError with everything that is wrong.
        """
        wrong: list[str] = []
        reason = self._given_back()
        if reason:
            self.logger.info("the cluster is shut down: %s", reason)
            wrong = shut_down(self.kafka) + self._errors()
        assert not wrong, f"cluster {self.kafka.name} did not end well: " + "; ".join(wrong)

    def _given_back(self) -> str:
        """Gives the cluster to the tests to come; returns why it cannot be given, "" if it was."""
        if self._clusters is None or self._shared is None or self._shared.settings is None:
            return "it is not shared"
        if not self.kafka.distribution.patches and self.logged("controllers", ELR_CLEARED):
            return "eligible leaders of a topic were cleared"
        reason = made_reusable(self.kafka, self._shared.settings)
        if reason:
            return reason
        errors, marks = self._errors(), log_marks(self.kafka)
        if errors:
            return errors[0]
        self._collect_logs()
        self._clusters.give_back(self._shared, marks, self.allowed)
        self._shared, self._over = None, True
        return ""

    def _errors(self) -> list[str]:
        errors = list(errors_since(self._marks, self.kafka, self.allowed))
        return [f"error lines that are not allowed: {summary(errors)}"] if errors else []

    def _collect_logs(self) -> None:
        """Copies the logs as ducktape does behind a test: by then the cluster may have been ended."""
        results = Path(TestContext.results_dir(self.context, self.context.test_index)) / self.service_id
        for node in self.nodes:
            target = results / node.account.hostname
            target.mkdir(parents=True, exist_ok=True)
            for log in self.logs.values():
                node.account.copy_from(log["path"], str(target))
        self.logs = {}

    def _bind(self, kafka: KafkaCluster) -> None:
        self.spec, self.plan = kafka.state.spec, kafka.plan  # its addresses depend on what else is up
        waiting = list(self.nodes)
        for n in kafka.select("all"):
            slot = next(s for s in waiting if s.node_type == n.node.rack)
            waiting.remove(slot)
            slot.account.bind(n.host, n.name)


def _series(s: Sample) -> tuple[str, str, frozenset[tuple[str, str]]]:
    """Node, name and labels of a metric."""
    return (s.node, s.name, frozenset(s.labels.items()))


def _on(spec: ClusterSpec, wanted: Mapping[str, Any], name: str) -> ClusterSpec:
    """The spec under that name, on the backend that the globals of the session name. Raises RackspanError."""
    data = spec.model_dump(exclude_unset=True) | {"name": name, "backend": wanted.get("backend", spec.backend)}
    if "inventory" in wanted:
        data["hosts"] = inventory.load(Path(wanted["inventory"]))
    return parse(data, where="the cluster of the test")
