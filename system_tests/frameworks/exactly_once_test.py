"""Streams, Connect and MirrorMaker 2 of this distribution through the loss of one rack, of two, and their return."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.common.wait import Pending, pause, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.program_service import ProgramService
from harness.recording.log_errors import Allowed
from harness.spec.cluster_spec import ClusterSpec
from system_tests.frameworks.lines import LineProducer, TopicLines, differences
from system_tests.lib import expect
from system_tests.lib.base import RackTest

BATCH = 40  # lines in each state of the cluster
OUTAGE_S = 12.0  # longer than the transactions of Streams may be open
SECONDS = 150.0
WORDS, COUNTS = "streams-plaintext-input", "streams-wordcount-output"  # the names that the example has
FILE, MIRRORED, NEWS = "file-lines", "remote.news", "news"
COMMON = "common"  # a word of every line
ACKS = {"all": "-1", "min.insync.replicas": "-2"}  # as producers print the setting
THREE = {"default.replication.factor": 3, "offsets.topic.replication.factor": 3}
DEFAULTS = {**THREE, "transaction.state.log.replication.factor": 3, "transaction.state.log.min.isr": 2}
REFUSED_WRITES = Allowed(
    r"Error processing append operation on partition |Failed to update metadata|Exception when handling request",
    "two of three racks are down: writes of frameworks, their groups and their transactions are refused",
)
STRING = "org.apache.kafka.connect.storage.StringConverter"


class Frameworks(RackTest):
    """Three racks, min.insync.racks=2 as the cluster default. Each line is written once, copied once, counted once."""

    def test_acks_all(self) -> None:
        """With acks=all, which is what frameworks use."""
        self.play("all")

    def test_acks_min_insync_replicas(self) -> None:
        """With acks=min.insync.replicas: no leader is lost that has more than the others."""
        self.play("min.insync.replicas")

    def play(self, acks: str) -> None:
        """Writes lines while all racks are up, with one of them, with two of them down, and after their return."""
        spec = self.spec("a:1,b:1,c:1", settings={**DEFAULTS, "min.insync.racks": 2})
        other = self.spec("a:1", settings={"offsets.topic.replication.factor": 1})
        allowed = [expect.REPLICAS_REFUSED, REFUSED_WRITES]
        with self.racks(spec, allowed, shared=False) as kafka, self.other(other) as remote:
            for topic in (WORDS, COUNTS, FILE):
                self.topics(kafka).create(topic, [[1, 2, 3]])
            programs = self.programs(kafka, remote, acks)
            source, sink = self.folder / "in.txt", self.folder / "out.txt"
            source.touch()
            self.connect(programs["connect"], source, sink)
            written = _Written(source, LineProducer(kafka.bootstrap, WORDS), LineProducer(remote, NEWS))
            copies = _Copies(kafka.bootstrap, sink)
            try:
                self.outage(kafka, programs, written, copies)
            finally:
                copies.close()
            for program in programs.values():
                program.end()
                used = f"acks = {ACKS[acks]}"
                assert used in program.printed, f"{program.name} did not write with {used}"
            assert (programs["streams"].folder / "kafka-streams").is_dir(), "Streams keeps its state elsewhere"

    def outage(
        self, kafka: KafkaRacks, programs: Mapping[str, ProgramService], written: _Written, copies: _Copies
    ) -> None:
        """The racks go and return; every line arrives once in every place."""
        written.add(BATCH)
        copies.wait(written.lines, programs)
        kafka.wait_in_sync(MIRRORED)
        kafka.kafka.kill(["b1"])
        kafka.wait_in_sync(WORDS, {1, 3})
        written.add(BATCH)
        copies.wait(written.lines, programs)

        kafka.kafka.kill(["c1"])
        topics, admin = (WORDS, COUNTS, FILE, MIRRORED), self.topics(kafka)
        for topic in topics:
            kafka.wait_in_sync(topic, {1})
        before = {topic: admin.high_watermark(topic) for topic in topics}
        written.add(BATCH)
        pause(OUTAGE_S)
        for program in programs.values():
            program.require_running()
        after = {topic: admin.high_watermark(topic) for topic in topics}
        assert after == before, f"lines were acknowledged in one rack: {before} became {after}"
        assert kafka.errors(), "no write was refused"

        kafka.kafka.start(["b1", "c1"])
        kafka.kafka.wait_in_sync()
        written.add(BATCH)
        written.flush()
        copies.wait(written.lines, programs)
        copies.check(written.lines)

    @contextmanager
    def other(self, spec: ClusterSpec) -> Iterator[str]:
        """A second cluster of one broker; gives its bootstrap servers."""
        remote = KafkaRacks(self.test_context, spec, (), shared=False)
        remote.start()
        self.run.event("note", "second cluster", data={"bootstrap": remote.bootstrap})
        self.topics(remote).create(NEWS, [[1]])
        yield remote.bootstrap
        remote.end()

    def programs(self, kafka: KafkaRacks, remote: str, acks: str) -> dict[str, ProgramService]:
        """The three programs, started with that acks."""
        home = kafka.kafka.distribution.home
        plugin = next((home / "libs").glob("connect-file-*.jar"))
        streams = {
            "bootstrap.servers": kafka.bootstrap,
            "processing.guarantee": "exactly_once_v2",
            "producer.acks": acks,
            "commit.interval.ms": 200,
            "replication.factor": -1,
        }
        connect = {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "connect",
            "listeners": "HTTP://127.0.0.1:0",
            "key.converter": STRING,
            "value.converter": STRING,
            "plugin.path": plugin,
            "plugin.discovery": "service_load",  # the default reads each class of all archives
            "exactly.once.source.support": "enabled",
            "producer.acks": acks,
            "offset.flush.interval.ms": 500,
            **{f"{name}.storage.topic": f"connect-{name}" for name in ("config", "offset", "status")},
            **{f"{name}.storage.partitions": 1 for name in ("offset", "status")},
        }
        mirror = {
            "clusters": "remote, main",
            "remote.bootstrap.servers": remote,
            "main.bootstrap.servers": kafka.bootstrap,
            "remote->main.enabled": "true",
            "remote->main.topics": NEWS,
            "main->remote.enabled": "false",
            "replication.factor": 3,
            **{f"{name}.topic.replication.factor": 3 for name in ("checkpoints", "heartbeats")},
            "offset-syncs.topic.replication.factor": 1,
            "offset-syncs.topic.location": "source",
            "main.exactly.once.source.support": "enabled",
            "main.offset.flush.interval.ms": 500,
            "main.producer.acks": acks,
            "dedicated.mode.enable.internal.rest": "true",
            "listeners": "HTTP://127.0.0.1:0",
            "refresh.topics.interval.seconds": 5,
            **{f"{name}.plugin.discovery": "service_load" for name in ("main", "remote")},
            **{f"remote.{name}.storage.replication.factor": 1 for name in ("config", "offset", "status")},
        }
        demo = "org.apache.kafka.streams.examples.wordcount.WordCountDemo"
        commands = {
            "streams": (["kafka-run-class.sh", demo], streams),
            "connect": (["connect-distributed.sh"], connect),
            "mirror": (["connect-mirror-maker.sh"], mirror),
        }
        found = {}
        for name, (command, settings) in commands.items():
            program = ProgramService(self.test_context, name)
            file = program.folder / f"{name}.properties"
            file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
            script, *arguments = command
            environment = kafka.running()[0].jvm().tool_environment(str(program.folder / "logs"))
            environment["KAFKA_LOG4J_OPTS"] = f"-Dlog4j2.configurationFile={home}/config/connect-log4j2.yaml"
            # Streams keeps its state there: in the machine's own folder it would find that of another test.
            environment["KAFKA_OPTS"] = f"-Djava.io.tmpdir={program.folder}"
            program.run([kafka.kafka.distribution.script(script), *arguments, str(file)], environment)
            found[name] = program
        return found

    def connect(self, worker: ProgramService, source: Path, sink: Path) -> None:
        """Makes the two connectors by REST."""
        url = worker.wait_printed(r"REST server listening at (http://127\.0\.0\.1:\d+)/", SECONDS)[1]
        worker.wait_printed(r"Finished starting connectors and tasks", SECONDS)
        worker.wait_printed(r"REST resources initialized", SECONDS)  # until then each path is "not found"
        kind = "org.apache.kafka.connect.file.FileStream"
        connectors = {
            "source": {"connector.class": f"{kind}SourceConnector", "file": str(source), "topic": FILE},
            "sink": {"connector.class": f"{kind}SinkConnector", "file": str(sink), "topics": FILE},
        }
        for name, settings in connectors.items():
            request = urllib.request.Request(
                f"{url}/connectors/{name}/config",
                json.dumps({**settings, "tasks.max": "1"}).encode(),
                {"Content-Type": "application/json"},
                method="PUT",
            )
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                assert answer.status == 201, answer.read()

        def running() -> bool | Pending:
            with urllib.request.urlopen(f"{url}/connectors?expand=status", timeout=SECONDS) as answer:
                found = json.load(answer)
            states = [task["state"] for one in found.values() for task in one["status"]["tasks"]]
            return states == ["RUNNING", "RUNNING"] or Pending(json.dumps(found))

        wait_for("the connectors to run", running, SECONDS, every=0.5)


class _Written:
    """Numbered lines, each written to a file and to two topics."""

    def __init__(self, file: Path, words: LineProducer, news: LineProducer) -> None:
        self.lines: list[str] = []
        self._file, self._topics = file, (words, news)

    def add(self, number: int) -> None:
        """Writes as many new lines."""
        new = [f"n{len(self.lines) + i} {COMMON}" for i in range(number)]
        self.lines += new
        with self._file.open("a") as file:
            file.writelines(f"{line}\n" for line in new)
        for topic in self._topics:
            topic.write(new)

    def flush(self) -> None:
        """Waits until the topics have acknowledged all lines."""
        for topic in self._topics:
            topic.flush(SECONDS)


class _Copies:
    """Every place to which a framework writes."""

    def __init__(self, bootstrap: str, sink: Path) -> None:
        self._topics = {topic: TopicLines(bootstrap, topic) for topic in (COUNTS, FILE, MIRRORED)}
        self._sink = sink

    def wait(self, lines: list[str], programs: Mapping[str, ProgramService]) -> None:
        """Waits until each place has as many lines as were written. Raises WaitTimeout, or RackspanError."""

        def complete() -> bool | Pending:
            for program in programs.values():
                program.require_running()
            counts = {topic: len(read.records()) for topic, read in self._topics.items()}
            counts["sink"] = len(self._in_sink())
            wanted = {COUNTS: 2 * len(lines), FILE: len(lines), MIRRORED: len(lines), "sink": len(lines)}
            return all(counts[place] >= wanted[place] for place in wanted) or Pending(f"{counts} of {wanted}")

        wait_for("all lines in all places", complete, SECONDS, every=0.5)

    def check(self, lines: list[str]) -> None:
        """Raises AssertionError unless each line is in each place once, and counted once."""
        values = {topic: [value.decode() for _, value in self._topics[topic].records()] for topic in (FILE, MIRRORED)}
        wrong = {place: differences(found, lines) for place, found in {**values, "sink": self._in_sink()}.items()}
        counted = Counter((k or b"").decode() for k, _ in self._topics[COUNTS].records())
        wanted = Counter(word for line in lines for word in line.split())
        wrong[COUNTS] = "" if counted == wanted else f"{counted - wanted} too many, {wanted - counted} too few"
        steps = [int.from_bytes(v) for k, v in self._topics[COUNTS].records() if k == COMMON.encode()]
        wrong["steps"] = "" if steps == list(range(1, len(lines) + 1)) else f"counts of one word are {steps}"
        assert not any(wrong.values()), wrong

    def close(self) -> None:
        """Closes the connections."""
        for topic in self._topics.values():
            topic.close()

    def _in_sink(self) -> list[str]:
        return self._sink.read_text().splitlines() if self._sink.exists() else []
