"""Plans of the outage scenario: the placement of replicas, and the use of processors."""

from __future__ import annotations

import os
import time

from harness.benchmark import outage
from harness.benchmark.cpu_usage import CpuTicks
from harness.spec.cluster_spec import ClusterSpec
from harness.spec.replica_assignment import assignment
from harness.spec.topology import plan


def test_replicas_of_an_outage_stay_in_their_racks_and_every_broker_leads() -> None:
    nodes = plan(ClusterSpec()).brokers  # type: ignore[call-arg]
    racks = {n.id: n.rack for n in nodes}
    placed = assignment([n for n in nodes if n.rack in outage.RACKS])
    assert {racks[broker] for replicas in placed for broker in replicas} == {"a", "b"}
    assert sorted(replicas[0] for replicas in placed) == sorted(b for b, rack in racks.items() if rack != "c")
    for replicas in placed:
        assert len(set(replicas)) == 4
        assert racks[replicas[0]] != racks[replicas[1]], "the first two replicas must span both racks"


def test_cpu_usage_is_of_the_time_between_two_samples() -> None:
    first = CpuTicks.parse("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1\n")
    then = CpuTicks.parse("cpu  130 0 130 710 110 0 0 20 0 0\ncpu0 1\n")
    assert first.until(then) == {"cpu_busy": 0.8, "steal": 0.2}
    now = CpuTicks.now()
    assert 0 < now.busy < now.all <= CpuTicks.now().all
    mine = CpuTicks.now([os.getpid(), 2**22 + 1])
    until = time.process_time() + 1  # a tick is a hundredth of a second: of a few, one is a large share
    while time.process_time() < until:
        sum(range(100_000))
    used = mine.until(CpuTicks.now([os.getpid()]))
    assert 0 < used["cpu_own"] <= used["cpu_busy"] + 0.05 and list(mine.own or {}) == [os.getpid()]
    seconds = mine.seconds_of([os.getpid()], CpuTicks.now([os.getpid()]))
    assert seconds is not None and 0.95 <= seconds <= time.process_time()
    assert mine.seconds_of([os.getpid(), 1], CpuTicks.now([os.getpid(), 1])) is None, "one was not read before"
