"""Spark's own Kafka source and sink through a rack outage."""

from __future__ import annotations

import re
import sys

from harness.common.errors import environment_error
from harness.common.paths import project_root
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.program_service import ProgramService
from harness.faults.rack import rack_down
from harness.third_party_clients.registry import BUILT
from system_tests.frameworks.lines import LineProducer, TopicLines, differences
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest

JARS = BUILT / "spark-kafka"
SOURCE, PATIENT, HASTY = "lines", "patient", "hasty"
BATCH = 30
SECONDS = 150.0
GAVE_UP = r"^hasty: .*TimeoutException.*; readable: (\d+)$"


class SparkConnector(RackTest):
    """Two streaming queries copy a topic that is written all the time to topics with min.insync.racks=2."""

    def test_outage(self) -> None:
        """The patient query waits, and copies each line once; the hasty one fails, starts again, and loses nothing."""
        if not JARS.is_dir():
            raise environment_error(
                "Spark's Kafka connector is missing",
                observed=f"no {JARS.relative_to(project_root())}",
                do="run `gradle sparkConnector`",
            )
        with self.racks(self.spec("a:2,b:1", settings=acks.CALM), [expect.REPLICAS_REFUSED]) as kafka:
            topics = self.topics(kafka)
            topics.create(SOURCE, [[1, 2, 3]], min_insync_racks=1)
            for topic in (PATIENT, HASTY):
                topics.create(topic, [[1, 2, 3]], min_insync_replicas=2, min_insync_racks=2)
            producer = LineProducer(kafka.bootstrap, SOURCE)
            copies = {topic: TopicLines(kafka.bootstrap, topic) for topic in (PATIENT, HASTY)}
            spark = self.spark(kafka)
            try:
                before = lines("before")
                write(producer, before)
                spark.wait_printed("^copying$", SECONDS)
                wait_copied(copies, before, spark)

                with rack_down(kafka.kafka, "b", events=self.run):
                    for topic in (SOURCE, PATIENT, HASTY):
                        kafka.wait_in_sync(topic, {1, 2})
                    write(producer, lines("during"))  # the source's topic takes them
                    readable = spark.wait_printed(GAVE_UP, SECONDS).group(1)
                    assert int(readable) == BATCH, f"a batch query read {readable} lines, {BATCH} are in two racks"
                    assert topics.high_watermark(PATIENT) == BATCH, "something was acknowledged in one rack"
                    assert topics.high_watermark(SOURCE) == 2 * BATCH

                write(producer, lines("after"))
                written = [*before, *lines("during"), *lines("after")]
                wait_copied(copies, written, spark)
                wrong = differences(found(copies[PATIENT]), written)
                assert not wrong, f"the patient query: {wrong}"
                lost = set(written) - set(found(copies[HASTY]))
                assert not lost, f"the hasty query lost {len(lost)} lines, first {sorted(lost)[:3]}"
                spark.end()
            finally:
                for copy in copies.values():
                    copy.close()
        attempts = len(re.findall(GAVE_UP, spark.printed, re.MULTILINE))
        self.run.event("note", "spark", data={"hasty query failed": attempts})

    def spark(self, kafka: KafkaRacks) -> ProgramService:
        """The application, started."""
        service = ProgramService(self.test_context, "spark")
        service.run(
            [sys.executable, "-m", "system_tests.frameworks.spark_job", "--bootstrap", kafka.bootstrap,
             "--source", SOURCE, "--patient", PATIENT, "--hasty", HASTY,
             "--jars", str(JARS), "--folder", str(service.folder / "checkpoints")],
            {"PYTHONPATH": str(project_root()), "SPARK_LOCAL_IP": "127.0.0.1"},
        )  # fmt: skip
        return service


def lines(part: str) -> list[str]:
    """The lines of one part of the test."""
    return [f"{part} {number}" for number in range(BATCH)]


def write(producer: LineProducer, texts: list[str]) -> None:
    """Writes lines; all are acknowledged."""
    producer.write(texts)
    producer.flush(SECONDS)


def found(copy: TopicLines) -> list[str]:
    """The lines of a copy until now."""
    return [value.decode() for _, value in copy.records()]


def wait_copied(copies: dict[str, TopicLines], written: list[str], spark: ProgramService) -> None:
    """Waits until each line is in each copy."""

    def probe() -> bool | Pending:
        spark.require_running()
        missing = {topic: len(set(written) - set(found(copy))) for topic, copy in copies.items()}
        return Pending(f"missing: {missing}") if any(missing.values()) else True

    wait_for("Spark to copy all lines", probe, SECONDS)
