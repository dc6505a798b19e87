"""The resident load client: many runs at once in one process, each as if it had a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.common.paths import project_root
from harness.common.wait import wait_for
from harness.ducktape_support.session import run_suite
from harness.load.client import LoadClientError
from harness.load.command import Copy, Produce, Read, java_command
from harness.load.records import read_acks, read_reads
from harness.load.resident import ResidentClient, resident_client
from harness.run_folder.run_folder import read_events
from harness.tests.limits import STUCK
from harness.tests.load_broker import JAR, LIBS, MISSING, Broker, stock_broker

pytestmark = pytest.mark.skipif(MISSING, reason="needs build/load/rackspan-load.jar and the stock distribution")

SUITE = """
from pathlib import Path

from harness.load.command import Read
from harness.ducktape_support.session_load_client import start_client
from system_tests.lib.base import RackTest

class Loading(RackTest):
    def test_1(self): return self.load()
    def test_2(self): return self.load()

    def load(self):
        with self.racks(self.spec("a:1", distribution="stock")) as kafka:
            self.topics(kafka).create(self.folder.parent.name, [[1]])
            sent = self.produce(kafka, "p1", self.folder.parent.name, 20)
            args = Read(kafka.bootstrap, self.folder.parent.name, self.folder / "reads").args()
            with start_client(self.test_context, kafka.kafka.distribution, args, self.folder / "read.log") as reader:
                return {"sent": len(sent.ok), "read": reader.finish(60)["rows"]}
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, resident: ResidentClient) -> Iterator[Broker]:
    with stock_broker(tmp_path_factory.mktemp("broker"), resident) as running:
        yield running


def produce(broker: Broker, folder: Path, name: str, topic: str, **options: object) -> Produce:
    return Produce(name, broker.bootstrap, topic, folder / f"{name}.bin", **options)  # type: ignore[arg-type]


def wait_gone(pid: int) -> None:
    """Waits until that process has ended, whether its parent has looked or not."""

    def gone() -> bool:
        try:
            return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return True

    wait_for("the resident load client to be gone", gone, STUCK)


def test_runs_at_once_have_their_own_counts_and_errors(
    broker: Broker, resident: ResidentClient, tmp_path: Path
) -> None:
    topic, small = broker.topic("many", 2), broker.topic("small", config={"max.message.bytes": "100"})
    good = produce(broker, tmp_path, "good", topic, rate=100, duration=600)
    refused = produce(broker, tmp_path, "refused", small, rate=50, duration=600, retries=0)
    wrong = produce(broker, tmp_path, "wrong", topic, acks="-2")
    with (
        resident.run(good.args(), tmp_path / "good.log") as one,
        resident.run(refused.args(), tmp_path / "refused.log") as two,
    ):
        assert one.wait_line("started", 60)["pid"] == two.wait_line("started", 60)["pid"]
        with resident.run(wrong.args(), tmp_path / "wrong.log") as bad, pytest.raises(LoadClientError, match="code 1"):
            bad.finish(60)
        one.wait_line("second", 20)
        ended, paused = two.drain(60), one.pause()
        reads = Read(broker.bootstrap, topic, tmp_path / "reads.bin")
        with resident.run(reads.args(), tmp_path / "read.log") as reader:
            read = reader.finish(60)
        one.resume()
        one.wait_line("second", 20, len(one.lines) + 1)
        summary = one.stop(60)
    assert (summary["producer"], summary["errors"], summary["unanswered"]) == ("good", {}, 0)
    assert (ended["producer"], ended["acked"], ended["errors"]) == ("refused", 0, {"MESSAGE_TOO_LARGE": ended["sent"]})
    assert summary["acked"] == read_acks(good.out).num_rows > paused["seq"] == read["rows"] > 0
    assert read_reads(reads.out).num_rows == read["rows"] and read["complete"] is True
    assert read_acks(refused.out).num_rows == ended["sent"] > 0
    assert "ConfigException: Invalid value -2 for configuration acks" in (tmp_path / "wrong.log").read_text()
    for log in ("good.log", "refused.log", "read.log"):
        assert (tmp_path / log).read_text() == "", "the errors of another run"
    assert len(resident.starts) == 1


def test_a_usage_error_is_the_runs_own(resident: ResidentClient, tmp_path: Path) -> None:
    with (
        resident.run(["produce", "--rate", "x"], tmp_path / "log") as run,
        pytest.raises(LoadClientError, match="code 2"),
    ):
        run.finish(30)
    assert (
        (tmp_path / "log").read_text().startswith("rackspan-load: argument --rate: observed 'x'; give a number above 0")
    )
    for args in (["serve", "--socket", "x"], []):
        with resident.run(args, tmp_path / "log") as run, pytest.raises(LoadClientError, match="code 2"):
            run.finish(30)
    assert "observed serve from a connection; give produce, read or copy" in (tmp_path / "log").read_text()


def test_a_copy_is_served(broker: Broker, resident: ResidentClient, tmp_path: Path) -> None:
    source, target = broker.topic("from"), broker.topic("to")
    sent = produce(broker, tmp_path, "p1", source, rate=100, duration=0.2)
    with resident.run(sent.args(), tmp_path / "log") as run:
        run.finish(60)
    with resident.run(Copy("job", broker.bootstrap, source, target).args(), tmp_path / "log") as copy:
        copy.wait_line("started", 60)
        assert copy.drain(60)["copied"] == 20


def test_a_killed_run_is_gone_with_its_records_as_they_were(
    broker: Broker, resident: ResidentClient, tmp_path: Path
) -> None:
    spec = produce(broker, tmp_path, "killed", broker.topic("killed"), rate=200, duration=600)
    with resident.run(spec.args(), tmp_path / "log") as run:
        run.wait_line("second", 60)
        broker.pause()
        try:
            observed = run.wait_line("second", 20, len(run.lines) + 1)
            run.kill()
        finally:
            broker.resume()
        with pytest.raises(LoadClientError, match=r"load client failed[\s\S]*exit code -9"):
            run.finish(1)
    acks = read_acks(spec.out)
    results = acks["result"].to_pylist()
    assert acks.num_rows >= observed["sent"] and set(results) == {"OK", ""}, "closing must answer nothing"
    assert not any(line["event"] == "summary" for line in run.lines)
    with resident.run(Read(broker.bootstrap, "killed", tmp_path / "r").args(), tmp_path / "log") as reader:
        assert reader.finish(60)["rows"] < acks.num_rows, "it sent what was open after it was killed"


def test_a_caller_that_reads_late_gets_the_last_lines(broker: Broker, resident: ResidentClient, tmp_path: Path) -> None:
    """The line of the last second waits for the caller when the run ends."""
    reads = threading.Event()

    def read(line: dict[str, Any]) -> None:
        if line["event"] == "rated":
            reads.wait(60)

    spec = produce(broker, tmp_path, "late", broker.topic("late"), rate=100, duration=2.5)
    with resident.run(spec.args(), tmp_path / "log", status=read) as run:
        run.wait_line("started", 60)
        run._send("rate 100\n" * 600)  # more answers than the connection has room for
        wait_for("the last record", lambda: sum(read_acks(spec.out)["result"].to_numpy() == "OK") >= 249, STUCK)
        time.sleep(1.5)
        reads.set()
        assert run.finish(60)["stopped_by"] == "duration"
        # The first second's line as well, where the connection was not yet full by then.
        assert sum(line["event"] == "second" for line in run.lines) in (1, 2)


@pytest.mark.parametrize("verb", ["produce", "read", "copy"])
def test_a_run_ends_with_its_connection(verb: str, resident: ResidentClient, tmp_path: Path) -> None:
    nobody = "127.77.200.9:9092"
    specs: dict[str, Produce | Read | Copy] = {
        "produce": Produce("p1", nobody, "t", tmp_path / "p", ready_seconds=600),
        "read": Read(nobody, "t", tmp_path / "r", idle_seconds=600),
        "copy": Copy("job", nobody, "t", "u", properties={"max.block.ms": "600000"}),
    }
    with resident.run(specs[verb].args(), tmp_path / "log") as run:
        run.kill()  # closes the connection, as the end of its process does, and waits for the end of the run
    with pytest.raises(LoadClientError, match="exit code -9"):
        run.finish(1)


def test_a_client_that_died_is_named_and_replaced(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("died")
    with resident_client(tmp_path / "client", LIBS) as client:
        spec = produce(broker, tmp_path, "one", topic, duration=600)
        with client.run(spec.args(), tmp_path / "log") as run:
            os.kill(run.wait_line("started", 60)["pid"], signal.SIGKILL)
            words = r"the resident load client ended under its run[\s\S]*the next run starts another one"
            with pytest.raises(LoadClientError, match=words):
                run.finish(30)
        spec = produce(broker, tmp_path, "two", topic, rate=100, duration=0.2)
        with client.run(spec.args(), tmp_path / "log") as run:
            assert run.finish(60)["acked"] == 20
        first, second = client.starts
        assert first["pid"] != second["pid"]
    wait_gone(second["pid"])


def test_sigterm_lets_producers_end_and_the_end_of_its_owner_does_not_wait(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("ended")
    with resident_client(tmp_path / "client", LIBS) as client:
        spec = produce(broker, tmp_path, "one", topic, duration=600)
        with client.run(spec.args(), tmp_path / "log") as run:
            os.kill(run.wait_line("started", 60)["pid"], signal.SIGTERM)
            assert run.finish(30)["stopped_by"] == "SIGTERM"
        run = client.run(replace(spec, out=tmp_path / "two.bin").args(), tmp_path / "log")
        pid = run.wait_line("started", 60)["pid"]
    wait_gone(pid)
    with run, pytest.raises(LoadClientError, match="ended under its run"):
        run.finish(30)


def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    command = java_command(JAR, LIBS, ["serve", "--socket", str(tmp_path / "socket")])
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and f"observed that others can enter {tmp_path}; give it mode 0700" in done.stderr


@pytest.mark.cluster
def test_the_tests_of_a_session_have_one_process(home: Path, tmp_path: Path) -> None:
    (project_root() / "results").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="loading", dir=project_root() / "results") as place:
        (Path(place) / "__init__.py").touch()
        (Path(place) / "loading_test.py").write_text(SUITE)
        result = run_suite([f"{place}/loading_test.py"], tmp_path, {"distribution": "stock"})
    assert [o.status for o in result.outcomes] == ["PASS", "PASS"], result.lines()
    rows = json.loads((result.folder / "report.json").read_text())["results"]
    assert [row["data"] for row in rows] == [{"sent": 20, "read": 20}] * 2
    places = list(result.folder.parent.glob("load-client/*/"))
    starts = [start for folder in places for start in ResidentClient(folder, -1, LIBS).starts]
    events = [e for run in result.runs for e in read_events(run) if e["name"] == "producer"]
    assert len(starts) == 1 and len(events) == 2 and {e["data"]["pid"] for e in events} == {starts[0]["pid"]}
    wait_gone(starts[0]["pid"])
