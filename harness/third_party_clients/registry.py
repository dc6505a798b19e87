"""The third-party clients, and the reasons why this machine cannot run one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.common.errors import RackspanError
from harness.common.paths import project_root
from harness.distribution.locate import Distribution, find

Language = Literal["Java", "Python", "Node", "Go", "C"]


@dataclass(frozen=True)
class Client:
    """One client library. `key` names topics and producers, `title` is for readers, `ours` knows Rackspan's codes.

    `remedy` is a setting, and `remedy_options` make the program use it, without which the library has a defect
    after it gives records up. `short`: by default it gives a record up before a rack is back.
    """

    key: str
    title: str
    language: Language
    ours: bool = False
    short: bool = False
    remedy: str = ""
    remedy_options: Mapping[str, str] = field(default_factory=dict)

    @property
    def skip_reason(self) -> str:
        """The reason why it cannot be run here; "" if it can."""
        if self.language == "Java":
            try:
                libs = self.distribution.home / "libs"
            except RackspanError as e:
                return e.brief
            return "" if any(libs.glob("kafka-clients-*.jar")) else f"{_here(libs)} has no client library"
        if self.language == "Python":
            return ""
        if self.language == "C":
            return "" if shutil.which("kcat") else "there is no kcat on PATH"
        program = NODE_PROGRAM if self.language == "Node" else GO_PROGRAM
        if not program.is_file():
            return f"{_here(program)} was not built"
        return "" if self.language == "Go" or shutil.which("node") else "there is no node on PATH"

    @property
    def distribution(self) -> Distribution:
        """The folder of a Java client's jars. Raises RackspanError."""
        if self.key == "java-3":
            return Distribution(JAVA_3)
        return find("rackspan" if self.ours else "stock")

    @property
    def command(self) -> list[str]:
        """The command line of the program, with `VERB` for its verb; not of Java clients."""
        if self.language == "Python":
            return [sys.executable, "-m", "harness.third_party_clients.python_client", "VERB", "--client", self.key]
        if self.language == "C":
            return [sys.executable, "-m", "harness.third_party_clients.kcat_client", "VERB"]
        if self.language == "Node":
            return [shutil.which("node") or "node", str(NODE_PROGRAM), "VERB", "--client", self.key]
        return [str(GO_PROGRAM), "VERB", "--client", self.key]


BUILT = project_root() / "build" / "clients"
JAVA_3 = BUILT / "java-3"
NODE_PROGRAM = BUILT / "node" / "client.js"
GO_PROGRAM = BUILT / "go" / "client"

CLIENTS = (
    Client("rackspan", "Rackspan's Java client", "Java", ours=True),
    Client("java-4", "Apache Kafka's Java client", "Java"),
    Client("java-3", "Apache Kafka's Java client, 3.9", "Java"),
    Client("confluent-kafka", "librdkafka (confluent-kafka)", "Python"),
    # An idempotent producer of 3.0.12 that gives up a record it has sent drops its producer id, and never gets another.
    Client(
        "kafka-python",
        "kafka-python",
        "Python",
        remedy="enable_idempotence=False",
        remedy_options={"idempotence": "off"},
    ),
    Client("aiokafka", "aiokafka", "Python"),
    Client("kafkajs", "KafkaJS", "Node", short=True),
    Client("franz-go", "franz-go", "Go"),
    Client("sarama", "sarama", "Go", short=True),
    Client("kcat", "kcat", "C"),
    Client("platformatic", "@platformatic/kafka", "Node", short=True),
)


def named(key: str) -> Client:
    """The client of that key. Raises KeyError."""
    return {c.key: c for c in CLIENTS}[key]


def _here(path: Path) -> str:
    return str(path.relative_to(project_root()))
