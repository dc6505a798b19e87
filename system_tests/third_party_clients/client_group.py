"""All clients side by side on one cluster: a topic and a producer each for every scene, and readers."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from harness.common.errors import RackspanError
from harness.common.paths import project_root
from harness.common.wait import Pending, WaitTimeout, wait_for
from harness.ducktape_support.client_service import ClientProducer
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks, LoadService
from harness.ducktape_support.session_load_client import start_client
from harness.ducktape_support.steered_service import Row
from harness.load.client import LoadClient
from harness.load.command import Produce, Read
from harness.load.process import LoadProcess
from harness.load.records import read_reads
from harness.recording.metrics import total
from harness.third_party_clients.registry import CLIENTS, Client
from system_tests.lib.base import RackTest
from system_tests.third_party_clients.outcomes import ClientResult, Reported, skipped

REFUSALS = "kafka_server_BrokerTopicMetrics_FailedProduceRequestsPerSec_total"
LASTING_S = 1800  # no producer ends before it is ordered to
AT_ONCE = 4  # programs started at a time: more only wait for the processor

Producers = Mapping[str, LoadService | ClientProducer]


class ClientGroup:
    """The clients of the registry that this machine can run."""

    def __init__(self, test: RackTest, kafka: KafkaRacks) -> None:
        self.results = {c.key: ClientResult(c.key, c.title, skip_reason=c.skip_reason) for c in CLIENTS}
        self.clients = [c for c in CLIENTS if not self.results[c.key].skip_reason]
        self._test = test
        self._kafka = kafka

    def short(self) -> ClientGroup:
        """Those of them that give up within seconds by default; with the same results."""
        group = copy.copy(self)
        group.clients = [c for c in self.clients if c.short]
        return group

    def topics(self, scene: str) -> dict[str, str]:
        """The topic of each client in a scene."""
        return {c.key: f"{scene}-{c.key}" for c in self.clients}

    def create(self, scene: str, assignment: Sequence[Sequence[int]], **settings: object) -> None:
        """Makes the scene's topics."""
        topics = self._test.topics(self._kafka)
        for topic in self.topics(scene).values():
            topics.create(topic, assignment, **settings)

    def produce(
        self,
        scene: str,
        partitions: int,
        limit_s: float,
        rate: float,
        records: int = 0,
        *,
        remedied: bool = False,
        own_retries: bool = False,
    ) -> Producers:
        """A producer for each client, started; `limit_s` is how long the client may try for one record. `remedied` are
        those that have a defect where they give records up. With `own_retries` they have no limit but the library's.
        """
        made: dict[str, LoadService | ClientProducer] = {}
        for client, topic in zip(self.clients, self.topics(scene).values(), strict=True):
            options = dict(client.remedy_options) if remedied else {}
            if own_retries:
                options["retries"] = "library"
            made[client.key] = self._producer(
                client, topic, partitions, limit_s, rate, records or int(rate * LASTING_S), options
            )
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(_start, made.values()))
        for key, producer in made.items():
            line = producer.process.wait_line("started", 1)
            self.results[key].version = str(line.get("version") or line["client_version"])
            self.results[key].idempotent |= bool(line["idempotence"])
        return made

    def _producer(
        self,
        client: Client,
        topic: str,
        partitions: int,
        limit_s: float,
        rate: float,
        records: int,
        options: Mapping[str, str],
    ) -> LoadService | ClientProducer:
        context, run, limit_ms = self._test.test_context, self._test.run, int(limit_s * 1000)
        if client.language != "Java":
            spread = ",".join(map(str, range(partitions)))
            return ClientProducer(
                context, client, topic, self._kafka.bootstrap, topic, run,
                partitions=spread, rate=rate, records=records, delivery_timeout_ms=limit_ms, **options,
            )  # fmt: skip
        produce = Produce(
            topic, self._kafka.bootstrap, topic, Path(), rate=rate, duration=records / rate,
            delivery_timeout_ms=limit_ms, close_seconds=limit_s + 20, properties={"max.block.ms": "60000"},
        )  # fmt: skip
        return LoadService(context, client.distribution, produce, run)

    def settle(self, label: str, producers: Producers, settled: Callable[[str, Acks], bool], seconds: float) -> None:
        """Waits until it holds for each; those for which it never does are left to the evaluate."""
        try:
            wait_each(label, producers, settled, seconds)
        except WaitTimeout as e:
            self._test.logger.warning("%s", e)

    def refusals(self, scene: str) -> dict[str, int]:
        """Number of appends that the running brokers refused, by client."""
        samples = wait_for("the brokers' metrics", self._kafka.samples, 60)  # a busy broker may not report them in time
        return {key: int(total(samples, REFUSALS, topic=topic)) for key, topic in self.topics(scene).items()}

    def finish(self, scene: str, producers: Producers, seconds: float, *, stop: bool = True) -> dict[str, Reported]:
        """Lets all producers end, or waits for their own end; returns their results."""
        with ThreadPoolExecutor(len(CLIENTS)) as pool:
            ended = dict(zip(producers, pool.map(lambda p: _end(p, seconds, stop), producers.values()), strict=True))
        refused = self.refusals(scene)
        return {key: Reported(producers[key].records(), why, refused[key]) for key, why in ended.items()}

    def read(self, scene: str, wanted: Mapping[str, int]) -> dict[str, tuple[str, dict[str, Any], list[Row]]]:
        """Each client reads its topic of a scene: how it ended, the metadata it got, the records."""

        folder = Path(mkdtemp(prefix="readers-", dir=self._test.folder))  # a second attempt has the same folder

        def one(client: Client) -> tuple[str, dict[str, Any], list[Row]]:
            return self._read(client, self.topics(scene)[client.key], wanted[client.key], folder)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            return dict(zip((c.key for c in self.clients), pool.map(one, self.clients), strict=True))

    def _read(self, client: Client, topic: str, records: int, folder: Path) -> tuple[str, dict[str, Any], list[Row]]:
        out = folder / f"{client.key}.bin"
        ended = ""
        with self._reader(client, topic, records, out) as process:
            try:
                process.finish(120)
            except RackspanError as e:
                ended = e.brief
        lines = list(process.lines)
        metadata = next((line for line in lines if line.get("event") == "metadata"), {})
        if client.language != "Java":
            return ended, metadata, [line for line in lines if line.get("event") == "read"]
        return ended, metadata, read_reads(out).to_pylist() if out.exists() else []

    def _reader(self, client: Client, topic: str, records: int, out: Path) -> LoadClient:
        log = out.with_suffix(".log")
        if client.language == "Java":
            args = Read(self._kafka.bootstrap, topic, out).args()
            return start_client(self._test.test_context, client.distribution, args, log)
        options = ("--bootstrap", self._kafka.bootstrap, "--topic", topic, "--records", str(records))
        command = [*("read" if word == "VERB" else word for word in client.command), *options]
        return LoadProcess(command, log, cwd=project_root())

    def evaluated(self) -> list[ClientResult]:
        """All results; where nothing may be skipped, a client that could not be run is a violation."""
        if os.environ.get("CI"):
            skipped(self.results.values())
        return list(self.results.values())


def wait_each(label: str, producers: Producers, settled: Callable[[str, Acks], bool], seconds: float) -> None:
    """Waits until it holds for each. Raises WaitTimeout."""

    def probe() -> bool | Pending:
        late = {key: p.records().counts for key, p in producers.items() if not settled(key, p.records())}
        return Pending(f"not yet: {late}") if late else True

    wait_for(label, probe, seconds, every=0.3)


def _start(producer: LoadService | ClientProducer) -> None:
    producer.start()
    producer.process.wait_line("started", 90)


def _end(producer: LoadService | ClientProducer, seconds: float, stop: bool) -> str:
    try:
        (producer.end if stop else producer.finish)(seconds)
    except RackspanError as e:
        return e.brief
    return ""


def violations(results: Iterable[ClientResult]) -> str:
    """All violations in words, by client."""
    return "; ".join(f"{r.title}: {c}" for r in results for c in r.violations)
