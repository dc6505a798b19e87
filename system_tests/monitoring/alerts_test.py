"""A real Prometheus with the rules of the distribution, in a real outage."""

from __future__ import annotations

from harness.common.wait import wait_for
from harness.recording.log_errors import Allowed
from system_tests.lib import expect
from system_tests.lib.base import RackTest
from system_tests.lib.kafka_racks import ask
from system_tests.lib.prometheus import Prometheus, needs_prometheus

UNREACHED = Allowed(
    r"Error processing append operation on partition ",
    "two of three racks are down and one broker after them: writes are refused",
)


class Alerts(RackTest):
    """Three racks, a topic that requires two of them, and a producer that retries."""

    @needs_prometheus
    def test_each_alert_of_an_outage_fires_and_no_other(self) -> None:
        """Times of the rules are shorter; each set of alerts is complete, and all resolve when the racks are back."""
        with self.racks(self.spec("a:1,b:1,c:1"), [UNREACHED, expect.REPLICAS_REFUSED], shared=False) as kafka:
            topics = self.topics(kafka)
            topics.create("orders", [[1, 2, 3]], min_insync_racks=2)
            topics.create("alone", [[3]])
            prometheus = Prometheus(self.test_context, kafka)
            prometheus.start()
            nodes = len(kafka.plan.nodes)
            wait_for("all nodes to be scraped", lambda: len(prometheus.query("up == 1")) == nodes, 120)
            producer = self.producer(kafka, "live", "orders", rate=20, delivery_timeout_ms=300000)
            wait_for(
                "requests to be recorded", lambda: prometheus.query("job_acks:kafka_produce_requests:rate1m > 0"), 120
            )
            prometheus.wait_values('topic:kafka_isr_racks:min{topic="orders"}', {"3"})
            prometheus.wait_values('kafka_server_MetadataLoader_FinalizedLevel{feature="rackspanVersion"}', {"2"})
            prometheus.wait_firing()
            ask(kafka, "degrade", "orders", "--to", "1", "--for", "1h", "--reason", "a test of the alert")
            prometheus.wait_firing("RackspanDegraded")
            ask(kafka, "restore", "orders")
            prometheus.wait_firing()

            for name, racks in (("Availability", "1"), ("Data", "2")):
                gauge = f"kafka_controller_KafkaController_MaxRackFailuresWithoutLosing{name}"
                prometheus.wait_values(f'{gauge}{{topic="orders"}}', {racks})
                prometheus.wait_values(f'{gauge}{{topic="alone"}}', {"0"})
                prometheus.wait_values(f'{gauge}{{topic=""}}', {"0"})

            topics.set("orders", "min.insync.racks.shadow", 4)
            prometheus.wait_firing("RackspanWouldRefuse")
            prometheus.wait_values(
                'rate(kafka_server_ReplicaManager_WouldRefuseRequestsPerSec_total{topic="orders"}[1m]) > bool 0', {"1"}
            )
            topics.unset("orders", "min.insync.racks.shadow")
            prometheus.wait_firing()

            kafka.kafka.kill(["b1"])
            prometheus.wait_firing("RackspanRackDown b", "RackspanOneRackFromRefusal")
            kafka.kafka.kill(["c1"])
            down = ("RackspanRackDown b", "RackspanRackDown c", "RackspanNoElectableReplica")
            prometheus.wait_firing(*down, "RackspanWritesRefused", "RackspanClientsRefused")
            prometheus.wait_values('job:kafka_produce_refused:rate1m{error="NOT_ENOUGH_RACKS"} > bool 0', {"1"})
            prometheus.wait_panels()
            kafka.kafka.start(["b1", "c1"])
            kafka.kafka.wait_in_sync()
            prometheus.wait_firing()
            prometheus.end()
            acks = producer.end()
            expect.all_acknowledged(acks, len(acks))
