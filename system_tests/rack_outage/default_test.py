"""Plan row 5: with the default min.insync.racks=1 the distribution behaves as the unpatched one."""

from __future__ import annotations

from typing import Any

from harness.admin.topics import Topics
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks
from harness.faults.process import heal, nodes_down
from harness.recording.metrics import Sample, total
from harness.recording.segments import stored
from harness.spec.rackspan_level import FEATURE
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest

# Values that must be equal on both: replication, what is refused, what is written.
COMPARED = (
    "kafka_server_ReplicaManager_UnderMinIsrPartitionCount",
    "kafka_server_ReplicaManager_AtMinIsrPartitionCount",
    "kafka_server_ReplicaManager_UnderReplicatedPartitions",
    "kafka_server_ReplicaManager_OfflineReplicaCount",
    "kafka_server_ReplicaManager_LeaderCount",
    "kafka_cluster_Partition_UnderMinIsr",
    "kafka_cluster_Partition_InSyncReplicasCount",
)


class DefaultAsStock(RackTest):
    """The same workload with the same outages on both distributions, one after the other: ours at the level of a
    new cluster and at level 0 of rackspan.version.
    """

    def test_same_outcomes_and_counts(self) -> None:
        """One broker a rack; rack c goes, then rack b, then both come back."""
        # The new one first: another test has just used such a cluster.
        levels = {name: self.workload(name, "rackspan", f) for name, f in (("new", {}), ("level-0", {FEATURE: 0}))}
        stock = self.workload("stock", "stock", {})
        for name, ours in levels.items():
            assert list(stock) == list(ours)
            different = {step: (stock[step], ours[step]) for step in stock if stock[step] != ours[step]}
            assert not different, f"stock and {name} differ in {different}"
        assert stock["one rack"]["acks=all"] == {(expect.FEW_REPLICAS, ""): 30}, stock["one rack"]

    def workload(self, name: str, kind: str, features: dict[str, int]) -> dict[str, Any]:
        """Observations after each step, in terms that must not depend on the distribution; `name` is for producers."""
        observed: dict[str, Any] = {}
        spec = self.spec("a:1,b:1,c:1", settings=PATIENT, distribution=kind, features=features)
        with self.racks(spec, [expect.REPLICAS_REFUSED]) as kafka, self.run.phase(name):
            topics = self.topics(kafka)
            topics.create("t", [[1, 2, 3]], min_insync_replicas=2)

            def step(label: str, racks: int, **sent: Acks) -> None:
                samples = kafka.samples()
                self.no_rack_alarm(kind, samples, racks)
                observed[label] = look(kafka, topics, samples) | {
                    key.replace("_", "="): a.counts for key, a in sent.items()
                }

            step("start", 3, acks_all=self.produce(kafka, f"{name}-1", "t", 100, retries=0))
            with nodes_down(kafka.kafka, "c1", how="stop", events=self.run):
                kafka.wait_in_sync("t", {1, 2})
                step("two racks", 2, acks_all=self.produce(kafka, f"{name}-2", "t", 30, retries=0))
                with nodes_down(kafka.kafka, "b1", how="stop", events=self.run):
                    kafka.wait_in_sync("t", {1})
                    refused = self.produce(kafka, f"{name}-3", "t", 30, retries=0)
                    single = self.stock_python(
                        kafka, "confluent-kafka", f"{name}-4", "t", records=10, acks="1"
                    ).finish()
                    step("one rack", 1, acks_all=refused, acks_1=single)
            heal(kafka.kafka, "brokers")
            kafka.wait_in_sync("t")
            again = self.stock_python(kafka, "kafka-python", f"{name}-5", "t", records=20).finish()
            step("back", 3, acks_all=again)
            read = self.read(kafka, "t")
            observed["read"] = sorted((r["offset"], r["producer"].removeprefix(name), r["seq"]) for r in read)
        return observed

    def no_rack_alarm(self, kind: str, samples: list[Sample], racks: int) -> None:
        """The metrics of racks raise no alarm at the default, and count racks all the same."""
        alarms = {name: total(samples, name) for name in (expect.UNDER_RACKS, expect.AT_RACKS, expect.RACK_FAILURES)}
        assert not any(alarms.values()), alarms
        span = total(samples, expect.SPAN_PARTITION, topic="t")
        assert span == (racks if kind == "rackspan" else 0), f"{kind} counts {span} racks in sync, {racks} are"


def look(kafka: KafkaRacks, topics: Topics, samples: list[Sample]) -> dict[str, Any]:
    """Metrics, answers by error code, offsets."""
    log = stored(kafka.broker(1), "t")
    return {
        "metrics": {name: total(samples, name) for name in COMPARED},
        "errors": kafka.errors(),
        "end": log[-1].offset + 1,
        "high watermark": topics.high_watermark("t"),
    }
