"""The harness before anything is tested with it: faults do what they claim, brokers are in the racks of the spec."""

from __future__ import annotations

import socket

from harness.cluster.node import KafkaNode
from harness.common.errors import RackspanError
from harness.common.wait import Pending, wait_for
from harness.faults.process import nodes_down
from harness.faults.rack import rack_down
from harness.hosts.host import ProcessState
from system_tests.lib.base import RackTest


class Harness(RackTest):
    """One broker a rack."""

    def test_racks_kill_and_pause(self) -> None:
        """Racks over the protocol, a kill by a dead pid and a refused connection, a pause by a fenced broker."""
        with self.racks(self.spec("a:1,b:1,c:1")) as kafka:
            assert kafka.kafka.view().racks == {1: "a", 2: "b", 3: "c"}
            b1 = kafka.node("b1")
            before, state = b1.look()
            assert before is not None and state is ProcessState.RUNNING and alive(b1, before.pid)
            assert connects(b1.node.address, b1.node.port) == ""

            with rack_down(kafka.kafka, "b", events=self.run):
                assert not alive(b1, before.pid), f"process {before.pid} survived its kill"
                assert connects(b1.node.address, b1.node.port) == "ConnectionRefusedError"
                wait_for("broker 2 to be fenced", lambda: fenced(kafka.kafka.view().racks), 20)
            after, state = b1.look()
            assert after is not None and after != before and state is ProcessState.RUNNING
            assert kafka.kafka.view().racks == {1: "a", 2: "b", 3: "c"}

            # At once again: the cluster still counts broker 2's former life when its new one begins.
            kafka.kafka.kill("b1")
            kafka.kafka.start("b1")
            assert connects(b1.node.address, b1.node.port) == ""

            with nodes_down(kafka.kafka, "c1", how="pause", events=self.run):
                c1 = kafka.node("c1")
                assert c1.look()[1] is ProcessState.PAUSED
                assert connects(c1.node.address, c1.node.port) == "", "the kernel accepts for a paused process"
                wait_for("broker 3 to be fenced", lambda: fenced(kafka.kafka.view().racks, 3), 20)
            wait_for("broker 3 to be back", lambda: 3 in kafka.kafka.view().racks, 20)

    def test_a_node_that_fails_is_named(self) -> None:
        """A cluster that cannot start says which node failed and why, and its logs are at hand."""
        spec = self.spec("a:1", broker={"num.io.threads": "none"})
        try:
            with self.racks(spec):
                raise AssertionError("the cluster started with a setting that is no number")
        except RackspanError as e:
            assert e.what == "a1 (rack a) ended while it was starting", e.what
            assert "Invalid value none for configuration num.io.threads: Not a number of type INT" in e.observed, (
                e.observed
            )


def alive(node: KafkaNode, pid: int) -> bool:
    """True if the node's host has a process of that id that has not ended; one that nobody has reaped yet has."""
    status = node.host.read(f"/proc/{pid}/status")
    return status != "" and "State:\tZ" not in status


def connects(address: str, port: int) -> str:
    """An empty text if a connection is accepted, else the name of what came instead."""
    try:
        socket.create_connection((address, port), timeout=2).close()
    except OSError as e:
        return type(e).__name__
    return ""


def fenced(racks: dict[int, str], broker: int = 2) -> bool | Pending:
    """True if the cluster counts the broker out."""
    return broker not in racks or Pending(f"brokers {sorted(racks)}")
