"""One stock broker on a loopback address of its own, for the tests of the load client."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from harness.common.paths import claim_block, release_block
from harness.common.wait import WaitTimeout, wait_for
from harness.distribution.locate import find
from harness.load.resident import ResidentClient
from harness.tests.kafka_tools import tool_environment
from harness.tests.limits import STUCK

ROOT = Path(__file__).parents[2]
LIBS = ROOT / "build/dist/stock-kafka_2.13-4.3.1/libs"
JAR = ROOT / "build/load/rackspan-load.jar"
MISSING = not (LIBS.is_dir() and JAR.is_file())
_CLUSTER_ID = "rackspanLoadTests00000"


@dataclass
class Broker:
    """A running broker; pause and resume stop the process and let it continue. `clients` serves runs beside it."""

    process: subprocess.Popen[bytes]
    bootstrap: str
    clients: ResidentClient
    log: Path

    def topic(self, name: str, partitions: int = 1, config: dict[str, str] | None = None) -> str:
        """Creates a topic with one replica and waits until it is there; a broker that was paused is fenced at first.

        A fenced broker answers with metadata of no brokers, and a client of librdkafka 2.16 that reads that may never
        connect again (its issue 5301): each attempt has a new client.
        """

        def made() -> bool:
            admin = _admin(self.bootstrap)
            if name not in admin.list_topics(timeout=5).topics:
                admin.create_topics([NewTopic(name, partitions, 1, config=config or {})])[name].result(20)
            return name in admin.list_topics(timeout=5).topics

        try:
            wait_for(f"topic {name}", made, STUCK)
        except WaitTimeout as e:  # the log is gone with the folder of the test
            end = self.process.poll()
            state = "runs" if end is None else f"ended with {end}"
            e.add_note(f"the broker {state}; its log:\n{self.log.read_text(errors='replace')[-4000:]}")
            raise
        return name

    def pause(self) -> None:
        """The broker hangs: connections stay, nothing is answered."""
        self.process.send_signal(signal.SIGSTOP)
        stopped = psutil.Process(self.process.pid)
        # Threads continue until the one that has the signal is scheduled
        wait_for("the broker to stop", lambda: stopped.status() == psutil.STATUS_STOPPED, STUCK, every=0.001)

    def resume(self) -> None:
        """The broker continues."""
        self.process.send_signal(signal.SIGCONT)


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


@contextmanager
def stock_broker(folder: Path, clients: ResidentClient) -> Iterator[Broker]:
    """Formats, starts, and at the end kills one broker that is its own controller."""
    properties = folder / "server.properties"
    block = claim_block(folder)
    host = f"127.{block}.255.1"
    properties.write_text(
        f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@{host}:9093\n"
        f"listeners=PLAINTEXT://{host}:9092,CONTROLLER://{host}:9093\ncontroller.listener.names=CONTROLLER\n"
        f"log.dirs={folder}/data\noffsets.topic.replication.factor=1\n"
        "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\nlog.cleaner.dedupe.buffer.size=8388608\n"
    )
    stock = find("stock")
    env = os.environ | tool_environment("stock", str(folder))
    format_args = ["format", "-t", _CLUSTER_ID, "-c", str(properties)]
    subprocess.run([stock.script("kafka-storage.sh"), *format_args], check=True, capture_output=True, env=env)
    with (folder / "broker.log").open("wb") as log:
        start = [stock.script("kafka-server-start.sh"), str(properties)]  # becomes the broker's own process
        process = subprocess.Popen(start, stdout=log, stderr=log, cwd=folder, env=env | {"KAFKA_HEAP_OPTS": "-Xmx384m"})
    try:
        broker = Broker(process, f"{host}:9092", clients, folder / "broker.log")
        wait_for(
            "one stock broker to answer", lambda: bool(_admin(broker.bootstrap).list_topics(timeout=2).brokers), STUCK
        )
        yield broker
    finally:
        process.kill()
        process.wait()
        release_block(folder, block)
