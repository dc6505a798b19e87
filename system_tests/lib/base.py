"""The base of every system test: a cluster for the time of a block, clients, a run folder, and checks at the end."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ducktape.tests.test import Test
from ducktape.tests.test_context import TestContext

from harness.admin.topics import Topics
from harness.cluster.security import client_properties
from harness.common.process_tree import end_with_parent
from harness.common.wait import Pending, wait_for
from harness.distribution.locate import find
from harness.ducktape_support.client_service import ClientProducer
from harness.ducktape_support.copy_service import CopyService
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks, LoadService
from harness.ducktape_support.steered_service import Row
from harness.hosts.host import Capability
from harness.load.command import Copy, Produce
from harness.recording.log_errors import Allowed
from harness.recording.metrics import Sampler
from harness.recording.readback import read_back
from harness.run_folder.run_folder import RunFolder
from harness.spec.cluster_spec import ClusterSpec, parse
from harness.third_party_clients.registry import named
from system_tests.lib import acks
from system_tests.lib.new_topics import KnownTopics

# Function tests: small nodes that start fast.
HEAP = {"broker": "256m", "controller": "128m"}

# A busy machine is no outage. A broker that is shut down is missed at once all the same, one that is killed after 9 s.
# Tests that can do with these share a cluster.
PATIENT = {"broker.session.timeout.ms": 9000, "replica.lag.time.max.ms": 10000}


_attempts = count(1)  # of the one test that a process runs


class RackTest(Test):  # type: ignore[misc]  # ducktape has no types
    """Base of the tests. A distribution other than the default can be named in the globals of the session."""

    sampled_s = 10.0  # seconds between two samples of all metrics of the brokers

    def setup(self) -> None:
        """Makes the run folder of this test inside its results folder."""
        end_with_parent(signal.SIGTERM)  # a killed session: the test tears down what it has
        self.attempt = next(_attempts)
        self.folder = Path(TestContext.results_dir(self.test_context, self.test_context.test_index))
        name = f"{self.test_context.cls.__name__}.{self.test_context.function.__name__}"
        self.run = RunFolder.create(self.folder / "runs", name, kind="outage")

    def spec(self, racks: str, controllers: int = 1, distribution: str = "", **more: Any) -> ClusterSpec:
        """A small cluster of that many brokers per rack."""
        kind = distribution or self.test_context.globals.get("distribution", "rackspan")
        data = {"racks": racks, "controllers": controllers, "distribution": kind, "heap": HEAP}
        return parse(data | more, where=self.test_context.test_name)

    @contextmanager
    def racks(self, spec: ClusterSpec, allowed: Sequence[Allowed] = (), *, shared: bool = True) -> Iterator[KafkaRacks]:
        """A running cluster without topics, which tests of the same spec use one after the other.

        When the block ends well the cluster is checked, and ended if it is not as it was at first; the run folder is
        finished either way. Not `shared`: a new one that ends with the block, for a test that looks at what brokers
        keep from their start on, or changes what cannot be compared. A second attempt of a test never shares.
        """
        distribution = find(spec.distribution)
        self.run.update(
            spec={**self.run.manifest["spec"], "cluster": spec.model_dump()},
            versions={**self.run.manifest["versions"], spec.distribution: distribution.version},
            patches=self.run.manifest["patches"] or distribution.patches,
        )
        with self.run:
            kafka = KafkaRacks(self.test_context, spec, allowed, shared=shared and self.attempt == 1)
            kafka.start()
            if Capability.DELAY in kafka.kafka.backend.capabilities:
                self.run.event("note", "links", data={"links": [s.as_dict() for s in kafka.kafka.links.check()]})
            brokers = [n.node for n in kafka.kafka.select("brokers")]
            sampler = Sampler(brokers, self.run, self.sampled_s, part=f"metrics-{Path(spec.distribution).name}")
            sampler.start()
            try:
                yield kafka
            finally:
                sampler.stop()
            kafka.end()

    def topics(self, kafka: KafkaRacks) -> Topics:
        """Admin operations on the cluster, recorded in the run."""
        return KnownTopics(kafka, self.run)

    def producer(
        self, kafka: KafkaRacks, name: str, topic: str, client: str = "", user: str = "", **settings: Any
    ) -> LoadService:
        """A Java producer, started: of the cluster's own client library, or of the distribution `client`; as one of the
        spec's users where one is named.

        Settings as in load.command.Produce.
        """
        bootstrap = kafka.kafka.plan.secure_bootstrap if user else kafka.bootstrap
        if user:
            settings["properties"] = settings.get("properties", {}) | client_properties(kafka.kafka.folder, user)
        produce = Produce(name, bootstrap, topic, Path(), **settings)
        distribution = find(client) if client else kafka.kafka.distribution
        service = LoadService(self.test_context, distribution, produce, self.run)
        service.start()
        return service

    def copy(self, kafka: KafkaRacks, job: str, source: str, target: str, mode: str) -> CopyService:
        """A transactional copy job, started, whose producer has that `mode` of acks."""
        copy = Copy(job, kafka.bootstrap, source, target, mode)
        service = CopyService(self.test_context, kafka.kafka.distribution, copy, self.run)
        service.start()
        return service

    def produce(self, kafka: KafkaRacks, name: str, topic: str, records: int = 20, **settings: Any) -> Acks:
        """Sends a number of records, one a batch, and returns their results."""
        rate = settings.pop("rate", 100)
        alone = {"batch.size": "0"} | settings.pop("properties", {})
        service = self.producer(kafka, name, topic, rate=rate, duration=records / rate, properties=alone, **settings)
        return service.finish()

    def try_once(self, kafka: KafkaRacks, name: str, topic: str, records: int, mode: str) -> tuple[Acks, str]:
        """Sends some records, each tried once: their results, and the error that all of them got, or nothing."""
        result = self.produce(kafka, name, topic, records, acks=mode, retries=0)
        (error,) = {error for error, _ in result.counts}
        return result, "" if error == "OK" else error

    def stock_python(self, kafka: KafkaRacks, client: str, name: str, topic: str, **options: Any) -> ClientProducer:
        """A started stock Python producer (a key of the registry); options: harness/third_party_clients/README.md."""
        service = ClientProducer(self.test_context, named(client), name, kafka.bootstrap, topic, self.run, **options)
        service.start()
        return service

    def read(self, kafka: KafkaRacks, topic: str, *, committed: bool = False) -> list[Row]:
        """All records of the topic, read back up to the high watermarks, or as a transactional consumer sees it.

        Waits until every record that is acknowledged is below them: acks=min.insync.replicas is answered before.
        """
        self.wait_metric(kafka, acks.ABOVE_PARTITION, 0, topic=topic)
        return read_back(kafka.bootstrap, topic, self.run, committed=committed)

    def wait_metric(self, kafka: KafkaRacks, name: str, value: float, seconds: float = 20, **labels: str) -> None:
        """Waits until a metric, summed over brokers, has that value. Raises WaitTimeout."""

        def probe() -> bool | Pending:
            now = kafka.metric(name, **labels)
            return now == value or Pending(f"{now}")

        wait_for(f"{name} to be {value}", probe, seconds)
