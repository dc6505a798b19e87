"""The load client against a real stock broker: its own consumer, and counts of windows instead of records."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from confluent_kafka import Producer

from harness.load.command import Produce
from harness.load.records import read_acks, read_due, read_histograms, read_polls
from harness.load.resident import ResidentClient
from harness.run_folder.run_folder import RunFolder
from harness.tests.load_broker import MISSING, Broker, stock_broker
from harness.tests.load_clients import answered, client, column, passes, process, produce, read_back

pytestmark = pytest.mark.skipif(MISSING, reason="needs build/load/rackspan-load.jar and the stock distribution")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, resident: ResidentClient) -> Iterator[Broker]:
    with stock_broker(tmp_path_factory.mktemp("broker"), resident) as running:
        yield running


def test_a_process_consumes_what_it_sends_and_one_clock_reports_how_long_it_took(
    broker: Broker, tmp_path: Path
) -> None:
    topic = broker.topic("consumed", 2)
    other = Producer({"bootstrap.servers": broker.bootstrap})
    for _ in range(50):
        other.produce(topic, b"of before: not to be observed")
    assert other.flush(20) == 0
    summary, acks = produce(broker, tmp_path, topic, rate=200, duration=1, consume=True)
    polls = read_polls(tmp_path / "sends.bin.polls", "p1")
    assert summary["consumed"] == polls.num_rows == 200
    observed = {row["seq"]: row for row in polls.to_pylist()}
    for sent in acks.to_pylist():
        row = observed[sent["seq"]]
        assert (row["consumer"], row["producer"], row["topic"]) == ("p1", "p1", topic)
        assert (row["partition"], row["offset"]) == (sent["partition"], sent["offset"])
        assert row["read_ns"] > sent["sent_ns"] >= sent["due_ns"]
    run = RunFolder.create(tmp_path / "runs", "x")
    run.add_polls(polls)


def test_a_window_reports_how_late_its_records_were_sent(broker: Broker, tmp_path: Path) -> None:
    spec = Produce("p1", broker.bootstrap, broker.topic("stopped"), tmp_path / "p1", 100, duration=600, control=True)
    with process(spec, tmp_path) as running:
        pid = running.wait_line("started", 60)["pid"]
        running.wait_line("resumed", 60)  # the schedule has begun: a stop before that makes nothing late
        running.begin("0/quiet")
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(pid, signal.SIGCONT)
        running.wait_line("second", 20, len(running.lines) + 1)
        late = running.end()
        running.wait_line("second", 20, len(running.lines))
        running.begin("1/quiet")
        running.wait_line("second", 20, len(running.lines) + 1)
        calm = running.end()
        running.drain(60)
    assert late["lag_p99_us"] > 900_000 > calm["lag_p99_us"]


def test_counts_stand_for_the_records_due_in_their_window(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("counted")
    spec = Produce("p1", broker.bootstrap, topic, tmp_path / "counts", 100, histogram=True, consume=True, control=True)
    with client(broker, spec, tmp_path) as running:
        started = running.wait_line("started", 60)
        passes(running, 0.5)  # outside of every window
        begun = running.begin("7/quiet")
        passes(running, 1)
        ended = running.end()
        running.set_rate(1000)
        running.begin("8/fault")
        passes(running, 0.5)
        broker.pause()
        try:
            passes(running, 1.5)
            last = running.end()
        finally:
            broker.resume()
        summary = running.drain(60)
    rows = read_histograms(spec.out).to_pylist()
    read_back(broker, tmp_path, topic)
    due = read_due(tmp_path / "reads.bin") - started["anchor_epoch_ns"] + started["anchor_mono_ns"]

    def total(block: int, measure: str) -> int:
        return sum(r["records"] for r in rows if (r["block"], r["measure"]) == (block, measure))

    assert summary["errors"] == {} and summary["unanswered"] == 0 and summary["consumed"] == summary["sent"] == len(due)
    for block, line in ((7, ended), (8, last)):
        assert total(block, "latency") == total(block, "send_lag") == total(block, "end_to_end")
        within = np.count_nonzero((due >= line["begin_mono_ns"]) & (due < line["end_mono_ns"]))
        assert total(block, "latency") == within >= 90, "those due, however late they were sent"
        assert line["seconds"] == pytest.approx((line["end_mono_ns"] - line["begin_mono_ns"]) / 1e9)
    assert ended["acked"] > begun["acked"] and ended["window"] == "7/quiet"
    slow = sum(r["records"] for r in rows if r["block"] == 8 and r["measure"] == "latency" and r["low_us"] > 500_000)
    assert slow > 100, "a broker that hangs shows in all records that were due meanwhile"
    assert {(r["part"], r["producer"], r["result"]) for r in rows if r["measure"] == "latency"} == {
        ("quiet", "p1", "OK"),
        ("fault", "p1", "OK"),
    }
    assert all(r["width_us"] == 1 or r["width_us"] * 1000 <= r["low_us"] for r in rows)
    run = RunFolder.create(tmp_path / "runs", "x")
    run.add_histograms(read_histograms(spec.out))


def test_what_has_no_answer_is_counted_too(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("uncounted", config={"max.message.bytes": "100"})
    spec = Produce("p1", broker.bootstrap, topic, tmp_path / "c", 50, retries=0, histogram=True, control=True)
    with client(broker, spec, tmp_path) as running:
        running.wait_line("started", 60)
        running.begin("0/quiet")
        running.wait_line("second", 20, len(running.lines) + 1)
        running.end()
        answered(running)
        broker.pause()
        try:
            running.begin("1/quiet")
            running.wait_line("second", 20, len(running.lines) + 1)
            for window in ("2/quiet", "3/quiet"):
                running.begin(window)
        finally:
            broker.resume()
        running.drain(60)
    rows = read_histograms(spec.out).to_pylist()
    ends = {(r["block"], r["result"]) for r in rows if r["measure"] == "latency" and r["block"] < 2}
    assert ends == {(0, "MESSAGE_TOO_LARGE"), (1, "")}, "two windows later nothing is waited for any more"


def test_poisson_arrivals_are_drawn_by_their_seed_and_fixed_ones_are_even(broker: Broker, tmp_path: Path) -> None:
    topic, gaps = broker.topic("arrivals"), {}
    for name, options in {
        "fixed": {},
        "poisson": {"arrivals": "poisson", "seed": 7},
        "once more": {"arrivals": "poisson", "seed": 7},
        "other seed": {"arrivals": "poisson", "seed": 8},
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        _, acks = produce(broker, folder, topic, rate=1000, duration=1, **options)
        due, sent = column(acks, "due_mono_ns"), column(acks, "sent_ns") - column(acks, "due_ns")
        assert len(due) == 1000 and sent.min() >= 0, "never sent before it is due"
        gaps[name] = np.diff(due)
    assert np.ptp(gaps["fixed"]) <= 1 and gaps["fixed"].mean() == pytest.approx(1e6, rel=1e-6)
    assert np.abs(gaps["poisson"] - gaps["once more"]).max() <= 1, "but for where the stretch begins"
    assert not np.allclose(gaps["poisson"], gaps["other seed"], rtol=0.01)
    for name in ("poisson", "other seed"):
        assert gaps[name].mean() == pytest.approx(1e6, rel=0.15)
        assert gaps[name].std() / gaps[name].mean() == pytest.approx(1, rel=0.15), "as an exponential"
        within = np.mean(gaps[name] < 1e6 * np.log(2))
        assert within == pytest.approx(0.5, abs=0.06), "half of them below the median of an exponential"


def test_each_stretch_of_poisson_arrivals_has_its_own_draws_the_same_for_all_producers(
    broker: Broker, tmp_path: Path
) -> None:
    stretches: list[list[np.ndarray]] = []
    for name in ("first", "second"):
        options = {"rate": 500, "arrivals": "poisson", "seed": 3, "duration": 600, "start_paused": True}
        spec = Produce(name, broker.bootstrap, broker.topic(name), tmp_path / name, control=True, **options)  # type: ignore[arg-type]
        (tmp_path / f"{name}.log").mkdir()
        with client(broker, spec, tmp_path / f"{name}.log") as running:
            ends = []
            for _ in range(2):
                running.resume()
                passes(running, 0.5)
                ends.append(running.pause()["mono_ns"])
            running.drain(60)
        due = column(read_acks(spec.out), "due_mono_ns")
        stretches.append([np.diff(part[:100]) for part in np.split(due, [np.searchsorted(due, ends[0])])])
    (one, two), (same_one, same_two) = stretches
    assert np.abs(one - same_one).max() <= 1 and np.abs(two - same_two).max() <= 1
    assert not np.allclose(one, two, rtol=0.01)
