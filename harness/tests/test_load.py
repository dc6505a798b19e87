"""The load client against a real stock broker: schedule, results, crash safety, read-back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Producer
from kafka.partitioner.default import murmur2

from harness.load.client import LoadClientError
from harness.load.command import Copy, Produce, java_command
from harness.load.records import read_acks, read_histograms, read_reads
from harness.load.resident import ResidentClient
from harness.run_folder.run_folder import RunFolder, RunFolderError
from harness.tests.kafka_tools import tool_environment
from harness.tests.load_broker import JAR, LIBS, MISSING, Broker, stock_broker
from harness.tests.load_clients import answered, client, column, hang, process, produce, read_back

pytestmark = pytest.mark.skipif(MISSING, reason="needs build/load/rackspan-load.jar and the stock distribution")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, resident: ResidentClient) -> Iterator[Broker]:
    with stock_broker(tmp_path_factory.mktemp("broker"), resident) as running:
        yield running


@dataclass(frozen=True)
class Sent:
    """Records that a client sent to three partitions, and that another one read back."""

    topic: str
    summary: dict[str, object]
    acks: pa.Table
    read_summary: dict[str, object]
    reads: pa.Table


@pytest.fixture(scope="module")
def sent(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Sent:
    folder, topic = tmp_path_factory.mktemp("sent"), broker.topic("acked", 3)
    return Sent(topic, *produce(broker, folder, topic, rate=200, duration=2), *read_back(broker, folder, topic))


def test_what_was_acknowledged_is_read_back_at_its_offset(sent: Sent) -> None:
    summary, acks = sent.summary, sent.acks
    assert (summary["sent"], summary["acked"], summary["errors"], summary["unanswered"]) == (400, 400, {}, 0)
    assert set(acks["result"].to_pylist()) == {"OK"} and set(acks["topic"].to_pylist()) == {sent.topic}
    assert sorted(set(acks["partition"].to_pylist())) == [0, 1, 2]
    assert sent.read_summary["complete"] is True and sent.read_summary["rows"] == 400
    key = ["producer", "seq", "partition", "offset"]
    rows = {tuple(row.values()) for row in acks.select(key).to_pylist()}
    assert {tuple(row.values()) for row in sent.reads.select(key).to_pylist()} == rows


def test_due_times_are_evenly_spaced_and_latency_counts_from_them(sent: Sent) -> None:
    acks = sent.acks
    assert np.all(np.abs(np.diff(column(acks, "due_ns")) - 5_000_000) <= 1)
    assert np.all(column(acks, "sent_ns") >= column(acks, "due_ns"))
    assert np.all(column(acks, "done_ns") > column(acks, "sent_ns"))


def test_rows_fit_the_run_folder(sent: Sent, tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "runs", "x")
    run.add_acks(sent.acks)
    run.add_reads(sent.reads)


def test_connections_share_the_records(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("shared")
    summary, _ = produce(broker, tmp_path, topic, rate=90, duration=1, connections=3)
    assert (summary["sent"], summary["acked"], summary["metrics"]["record-send-total"]) == (90, 90, 90)  # type: ignore[index]
    tool = [str(LIBS.parent / "bin" / "kafka-run-class.sh"), "org.apache.kafka.tools.TransactionsCommand"]
    of_topic = ["describe-producers", "--topic", topic, "--partition", "0"]
    requested = [*tool, "--bootstrap-server", broker.bootstrap, *of_topic]
    env = os.environ | tool_environment("stock", str(tmp_path))
    reported = subprocess.run(requested, capture_output=True, text=True, check=True, env=env).stdout
    ends = sorted(int(line.split()[3]) for line in reported.splitlines()[1:])
    assert ends == [29, 29, 29], f"each of three producers numbers its own 30 records:\n{reported}"


def test_a_key_says_where_a_record_belongs(broker: Broker, tmp_path: Path) -> None:
    _, acks = produce(broker, tmp_path, broker.topic("keyed", 3), rate=90, duration=1, spread="keyed")
    wanted = [(murmur2(seq.to_bytes(8, "big")) & 0x7FFFFFFF) % 3 for seq in range(90)]
    assert acks["partition"].to_pylist() == wanted and set(wanted) == {0, 1, 2}


def test_a_hanging_broker_does_not_hold_up_the_schedule(broker: Broker, tmp_path: Path) -> None:
    spec = Produce("p1", broker.bootstrap, broker.topic("hang"), tmp_path / "sends.bin", 200, 6)
    with client(broker, spec, tmp_path) as running:
        running.wait_line("second", 60)
        hang(broker, running, 1)
        summary = running.finish(60)
    acks = read_acks(spec.out)
    assert summary["acked"] == 1200
    lag = column(acks, "sent_ns") - column(acks, "due_ns")
    latency = column(acks, "done_ns") - column(acks, "due_ns")
    assert np.percentile(lag, 95) < 100e6, "records must be sent on time while nothing is answered"
    assert latency.max() > 1e9, "the wait must show in the latency of the records that were due in it"
    assert np.count_nonzero(latency > 0.5e9) > 50


def test_a_closed_loop_waits_for_room_and_makes_up_for_nothing(broker: Broker, tmp_path: Path) -> None:
    spec = Produce("p1", broker.bootstrap, broker.topic("closed"), tmp_path / "sends.bin", 500, 6, size=1000)
    with client(broker, replace(spec, unanswered_kib=64), tmp_path) as running:
        running.wait_line("second", 60)
        hang(broker, running, 2)
        summary = running.finish(60)
    assert summary["acked"] == 3000, "a send that waits is no error"
    assert max(line["unanswered"] for line in running.lines if line["event"] == "second") < (64 << 10) / 1000
    acks = read_acks(spec.out)
    due = column(acks, "due_ns")
    assert np.max(column(acks, "sent_ns") - due) <= 10_000_000, "what cannot be sent is not due"
    assert np.max(np.diff(due)) > 1e9, "the schedule continues when there is room again"


def test_a_killed_client_leaves_a_readable_file(broker: Broker, tmp_path: Path) -> None:
    spec = Produce("p1", broker.bootstrap, broker.topic("killed"), tmp_path / "sends.bin", rate=500, duration=60)
    with process(spec, tmp_path) as running:
        answered(running)
        broker.pause()
        try:
            observed = running.wait_line("second", 60, len(running.lines))
            running.kill()
        finally:
            broker.resume()
    acks = read_acks(spec.out)
    assert acks.num_rows >= observed["sent"] > 500
    assert acks["seq"].to_pylist() == list(range(acks.num_rows))
    done = column(acks, "done_ns")
    open_rows = acks.filter(pa.array(done == 0))
    assert 0 < open_rows.num_rows < acks.num_rows
    assert set(open_rows["result"].to_pylist()) == {""} and set(open_rows["offset"].to_pylist()) == {-1}
    assert set(acks.filter(pa.array(done > 0))["result"].to_pylist()) == {"OK"}


def test_a_refusal_keeps_its_name_with_retries_off(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("refused", config={"max.message.bytes": "100"})
    summary, acks = produce(broker, tmp_path, topic, rate=50, duration=1, retries=0)
    assert set(acks["result"].to_pylist()) == {"MESSAGE_TOO_LARGE"}
    assert summary["errors"] == {"MESSAGE_TOO_LARGE": 50} and summary["acked"] == 0
    assert read_back(broker, tmp_path, topic)[1].num_rows == 0


def test_a_client_side_time_out_is_reported_from_the_brokers(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("late")
    spec = Produce("p1", broker.bootstrap, topic, tmp_path / "sends.bin", 100, 4, delivery_timeout_ms=700)
    with client(broker, spec, tmp_path) as running:
        running.wait_line("second", 60)
        broker.pause()
        try:
            summary = running.finish(60)
        finally:
            broker.resume()
    assert set(read_acks(spec.out)["result"].to_pylist()) <= {"OK", "TIMEOUT", "NETWORK_EXCEPTION"}
    assert "TIMEOUT" in read_acks(spec.out)["result"].to_pylist()
    assert summary["unanswered"] == 0


def test_sigterm_answers_what_is_open_within_its_limit_and_writes_everything(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("term")
    spec = Produce("p1", broker.bootstrap, topic, tmp_path / "sends.bin", 100, 60, close_seconds=1)
    with process(spec, tmp_path) as running:
        running.wait_line("second", 60)
        broker.pause()
        try:
            running.wait_line("second", 10, len(running.lines))
            summary = running.stop(20)
        finally:
            broker.resume()
    acks = read_acks(spec.out)
    assert summary["stopped_by"] == "SIGTERM" and summary["sent"] == acks.num_rows
    assert np.all(column(acks, "done_ns") > 0)
    assert {"OK", "CLIENT_CLOSED"} <= set(acks["result"].to_pylist())


def test_pause_and_resume_shift_the_schedule(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("paused")
    spec = Produce("p1", broker.bootstrap, topic, tmp_path / "sends.bin", 200, 60, control=True, start_paused=True)
    with client(broker, spec, tmp_path) as running:
        running.wait_line("started", 60)
        running.resume()
        running.wait_line("second", 10, len(running.lines))
        paused = running.pause()
        running.wait_line("second", 10, len(running.lines) + 1)
        resumed = running.resume()
        assert resumed["seq"] == paused["seq"] > 0
        running.stop()
    due = column(read_acks(spec.out), "due_ns")
    gap = np.diff(due)[paused["seq"] - 1]
    assert gap > 0.5e9 and due[paused["seq"]] <= resumed["t_ns"]
    assert np.count_nonzero(np.diff(due) > 10e6) == 1, "only the pause may leave a gap"


def test_a_stop_file_ends_the_client(broker: Broker, tmp_path: Path) -> None:
    spec = Produce("p1", broker.bootstrap, broker.topic("stopfile"), tmp_path / "sends.bin", 100, 60)
    with client(broker, replace(spec, stop_file=tmp_path / "stop"), tmp_path) as running:
        running.wait_line("second", 60)
        (tmp_path / "stop").touch()
        assert running.finish(60)["stopped_by"] == "stop file"


def test_records_of_others_are_read_as_not_ours(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("foreign")
    other = Producer({"bootstrap.servers": broker.bootstrap})
    other.produce(topic, b"hello")
    assert other.flush(20) == 0
    _, reads = read_back(broker, tmp_path, topic)
    assert [(r["producer"], r["seq"], r["offset"]) for r in reads.to_pylist()] == [("", -1, 0)]


def test_effective_settings_are_reported(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("reported")
    spec = Produce("p1", broker.bootstrap, topic, tmp_path / "sends.bin", 10, 1, acks="1")
    with client(broker, spec, tmp_path) as running:
        line = running.wait_line("started", 60)
        running.finish(60)
    assert (line["acks"], line["idempotence"], line["partitions"]) == ("1", False, 1)
    assert line["client_version"] == "4.3.1"


def test_an_acks_value_that_the_client_does_not_know_is_refused_by_it(broker: Broker, tmp_path: Path) -> None:
    for acks in ("-2", "min.insync.replicas"):
        spec = Produce("p1", broker.bootstrap, "any", tmp_path / f"{acks}.bin", acks=acks)
        with client(broker, spec, tmp_path) as running, pytest.raises(LoadClientError, match="exit code 1"):
            running.finish(60)
        text = (tmp_path / "client.log").read_text()
        assert f"ConfigException: Invalid value {acks} for configuration acks: String must be one of: all" in text


def test_a_copy_is_exact_and_continues_where_it_ended(broker: Broker, tmp_path: Path) -> None:
    source, target = broker.topic("source"), broker.topic("target", partitions=2)
    job = Copy("job", broker.bootstrap, source, target)

    def copied(folder: Path) -> dict[str, object]:
        folder.mkdir()
        produce(broker, folder, source, rate=500, duration=0.1)
        with client(broker, job, folder) as running:
            running.wait_line("started", 60)
            return running.drain(40)

    first, second = copied(tmp_path / "1"), copied(tmp_path / "2")
    assert (first["copied"], second["copied"], second["aborts"]) == (50, 50, 0)
    reads = read_back(broker, tmp_path, target)[1].to_pylist()
    assert sorted((r["producer"], r["seq"], r["partition"]) for r in reads) == sorted(
        [("job", seq, seq % 2) for seq in range(50)] * 2
    )


def test_a_missing_topic_is_named_with_what_to_do(broker: Broker, tmp_path: Path) -> None:
    spec = Produce("p1", "127.77.200.9:9092", "absent", tmp_path / "sends.bin", ready_seconds=1)
    with client(broker, spec, tmp_path) as running, pytest.raises(LoadClientError, match=r"exit code 3"):
        running.finish(60)
    text = (tmp_path / "client.log").read_text()
    assert "topic absent not usable after 1.0 s: last observed '" in text and "check that it exists" in text


PRODUCE = ["produce", "--producer", "p", "--bootstrap", "localhost:1", "--topic", "t", "--out", "f"]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["fly"], "invalid choice: 'fly' (choose from 'produce', 'read', 'copy', 'serve'); see --help"),
        ([], "too few arguments; see --help"),
        (["produce", "--rtae", "5"], "unrecognized arguments: '--rtae'; see --help"),
        (["produce", "--rate"], "argument --rate: expected one argument; see --help"),
        ([*PRODUCE, "--size", "5"], "argument --size: observed 5; a record of producer p needs at least 22 bytes"),
        ([*PRODUCE, "--producer", "x" * 32], f"argument --producer: observed '{'x' * 32}' of 32 bytes; give 1 to 31"),
        ([*PRODUCE, "--connections", "1.5"], "argument --connections: observed '1.5'; give an integer from 1 to 100"),
        ([*PRODUCE, "--connections", "101"], "argument --connections: observed '101'; give an integer from 1 to 100"),
        ([*PRODUCE, "--spread", "odd"], "argument --spread: observed 'odd'; give round-robin, sticky, keyed or"),
        ([*PRODUCE, "--rate", "-1"], "argument --rate: observed '-1'; give a number above 0"),
        ([*PRODUCE, "--rate", "x"], "argument --rate: observed 'x'; give a number above 0"),
        ([*PRODUCE, "--arrivals", "poison"], "argument --arrivals: invalid choice: 'poison'"),
        ([*PRODUCE, "--arrivals", "poisson", "--unanswered-kib", "64"], "observed poisson with --unanswered-kib"),
        ([*PRODUCE, "--transaction-records", "9", "--connections", "2"], "observed with 2 --connections"),
        ([*PRODUCE, "--abort-every", "2"], "observed without --transaction-records"),
        ([*PRODUCE, "--rate", "1e6"], "too large: observed 3600000000 records from --rate times --duration; lower one"),
        ([*PRODUCE, "--record", "some"], "argument --record: invalid choice: 'some' (choose from {records,histogram})"),
        ([*PRODUCE, "--property", "acks"], "argument --property: observed 'acks'; give it as KEY=VALUE"),
        (["copy", "--job", "x" * 32], f"argument --job: observed '{'x' * 32}' of 32 bytes; give 1 to 31"),
        (["read", "--topic", "t", "--out", "f"], "argument --bootstrap is required; see --help"),
    ],
)
def test_usage_errors(args: list[str], text: str, resident: ResidentClient, tmp_path: Path) -> None:
    with resident.run(args, tmp_path / "log") as run, pytest.raises(LoadClientError, match="exit code 2"):
        run.finish(60)
    said = (tmp_path / "log").read_text()
    assert text in said and len(said.splitlines()) == 1


def test_a_process_ends_with_the_code_of_its_run() -> None:
    done = subprocess.run(java_command(JAR, LIBS, ["fly"]), capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("rackspan-load: invalid choice: 'fly'")


@pytest.mark.parametrize("begun", [b"", bytes(500_000), bytes(8) + b"\x28" + bytes(499_991)])
def test_the_file_of_a_client_killed_before_it_began_has_no_records(tmp_path: Path, begun: bytes) -> None:
    (tmp_path / "x.bin").write_bytes(begun)
    assert (read_acks(tmp_path / "x.bin").num_rows, read_reads(tmp_path / "x.bin").num_rows) == (0, 0)
    (tmp_path / "x.bin").write_bytes(begun[:16_384].ljust(16_384, b"\0") + bytes(40) + b"a record")
    with pytest.raises(RunFolderError, match="cannot read record file"):
        read_acks(tmp_path / "x.bin")


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"something else entirely")
    with pytest.raises(RunFolderError, match=r"cannot read record file[\s\S]*wanted b'RKSENDS1'"):
        read_acks(tmp_path / "x.bin")
    with pytest.raises(RunFolderError, match=r"cannot read record file[\s\S]*wanted b'RKHISTO1'"):
        read_histograms(tmp_path / "x.bin")
