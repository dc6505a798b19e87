"""KIP-427: the three worked examples, broker by broker, in metrics and in kafka-topics.sh."""

from __future__ import annotations

from harness.cluster.cluster_view import Partition
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.faults.base import fault
from harness.faults.process import heal
from harness.recording.metrics import scrape, total
from system_tests.lib import expect
from system_tests.lib.base import RackTest
from system_tests.lib.listing import listed
from system_tests.proposals.kip_427.examples import COUNTS, EXAMPLES, OFFLINE, OPTIONS

FAILING = ("a1", "a2", "b1")


class WorkedExamples(RackTest):
    """One cluster carries all examples; its brokers 1, 2 and 3 crash one after the other and come back together."""

    def test_each_step_shows_its_categories(self) -> None:
        """Gauges of each partition, counts of each broker, the controller's count, and what the tool lists."""
        with self.racks(self.spec("a:2,b:1,c:1")) as kafka:
            topics = self.topics(kafka)
            for e in EXAMPLES:
                topics.create(e.topic, [e.replicas], min_insync_replicas=e.min_replicas, min_insync_racks=e.min_racks)
            check(kafka, 0)
            data = {"nodes": list(FAILING), "how": "kill, one by one"}
            with fault("brokers fail", lambda: None, lambda: heal(kafka.kafka, FAILING), self.run, data):
                for step, name in enumerate(FAILING, start=1):
                    kafka.kafka.kill(name)
                    self.run.event("note", "failed", "point", {"node": name})
                    check(kafka, step)
            wait_for("all metrics to be as at first", lambda: metrics_agree(kafka, 0), 90)


def check(kafka: KafkaRacks, step: int) -> None:
    """Waits until metrics and tool show what the examples say after that many failures. Raises WaitTimeout."""
    wait_for(f"metrics after {step} failures", lambda: metrics_agree(kafka, step), 60)
    wait_for(f"kafka-topics.sh after {step} failures", lambda: tool_agrees(kafka, step), 60)


def metrics_agree(kafka: KafkaRacks, step: int) -> bool | Pending:
    """True if in-sync replicas and all metrics are as the examples say; if not, everything that differs."""
    partitions = {p.topic: p for p in kafka.kafka.view().partitions}
    if not all(e.topic in partitions for e in EXAMPLES):
        return Pending(f"topics {sorted(partitions)}")
    samples = {n.node.id: scrape(n.node) for n in kafka.running()}
    all_samples = [s for of_broker in samples.values() for s in of_broker]
    wrong: list[str] = []

    def same(what: str, observed: object, wanted: object) -> None:
        if observed != wanted:
            wrong.append(f"{what} is {observed}, not {wanted}")

    for e in EXAMPLES:
        state = e.states[step]
        same(f"ISR of {e.topic}", set(partitions[e.topic].isr), set(state.isr))
        for gauge in COUNTS:
            observed = total(all_samples, f"kafka_cluster_Partition_{gauge}", topic=e.topic, partition="0")
            same(f"{gauge} of {e.topic}", observed, int(gauge in state.categories))
        same(f"racks of {e.topic}", total(all_samples, expect.SPAN_PARTITION, topic=e.topic), state.racks)
    for broker, of_broker in samples.items():
        for category, count in COUNTS.items():
            wanted = led_in(partitions, broker, category, step)
            same(f"{count} of broker {broker}", total(of_broker, f"kafka_server_ReplicaManager_{count}"), wanted)
    controller = scrape(kafka.kafka.plan.controllers[0])
    offline = sum(OFFLINE in e.states[step].categories for e in EXAMPLES)
    observed = total(controller, "kafka_controller_KafkaController_OfflinePartitionsCount")
    same("OfflinePartitionsCount of the controller", observed, offline)
    return Pending("; ".join(wrong)) if wrong else True


def led_in(partitions: dict[str, Partition], broker: int, category: str, step: int) -> int:
    """Number of partitions of that category that a broker leads."""
    return sum(partitions[e.topic].leader == broker and category in e.states[step].categories for e in EXAMPLES)


def tool_agrees(kafka: KafkaRacks, step: int) -> bool | Pending:
    """True if each option lists the partitions of its category and no others."""
    observed = listed(kafka, *OPTIONS.values())
    wanted = {o: {f"{e.topic}-0" for e in EXAMPLES if c in e.listed(step)} for c, o in OPTIONS.items()}
    wrong = [f"--{o} lists {sorted(observed[o])}, not {sorted(wanted[o])}" for o in wanted if observed[o] != wanted[o]]
    return Pending("; ".join(wrong)) if wrong else True
