"""Brokers without broker.rack: they do not start where racks are required, and prevent that racks become required."""

from __future__ import annotations

from harness.cluster.node import KafkaNode
from harness.common.wait import Pending, wait_for
from harness.hosts.host import exports
from harness.recording.log_errors import Allowed
from harness.recording.segments import end_offset
from system_tests.lib import expect
from system_tests.lib.base import PATIENT, RackTest

OWN = (
    "Invalid value 2 for configuration min.insync.racks: Broker 3 has no broker.rack, so its replicas would count for "
    "no rack of their own. Set broker.rack on this broker, or set min.insync.racks to 1."
)
CHANGE = (
    "brokers [3] have no broker.rack. Set broker.rack on every broker and restart it, or unregister brokers that "
    "are gone."
)
DEFAULT = f"cannot have min.insync.racks=2: {CHANGE}"
EXITS = Allowed(
    "ERROR (Exiting Kafka due to fatal exception|Encountered fatal fault: Error starting broker)",
    "broker 3 is started on purpose with what it must refuse",
)


class NoRack(RackTest):
    """Broker 3 loses its broker.rack, as by a slip in its configuration."""

    def test_refuses_to_start_and_to_be_raised(self) -> None:
        """Its process ends, by its own value or by a topic's; while such a broker is in, no value can be raised."""
        spec = self.spec("a:1,b:1,c:1", settings=PATIENT)
        with self.racks(spec, [EXITS, expect.CHANGE_REFUSED]) as kafka:
            topics = self.topics(kafka)
            topics.create("t", [[1, 2, 3]], min_insync_racks=2)
            kafka.kafka.stop("c1")
            c1 = kafka.node("c1")
            text = c1.host.read(c1.properties_file)
            without = "".join(line + "\n" for line in text.splitlines() if not line.startswith("broker.rack="))
            assert without != text
            c1.host.write(c1.properties_file, without + "min.insync.racks=2\n")
            code, printed = run_to_its_end(c1)
            assert code == 1, f"exit code {code}"
            assert f"ConfigException: {OWN}" in printed and "ERROR Exiting Kafka due to fatal exception" in printed, (
                printed[-2000:]
            )

            c1.host.write(c1.properties_file, without)
            code, printed = run_to_its_end(c1)
            assert code == 1 and OWN in printed, printed[-2000:]
            sent = self.produce(kafka, "sent", "t", 20)
            expect.all_acknowledged(sent, 20)

            topics.set("t", "min.insync.racks", 1)  # lowering is never refused, and no topic requires racks now
            kafka.kafka.start("c1")
            kafka.wait_in_sync("t")
            assert expect.refusal(lambda: topics.set("t", "min.insync.racks", 2)) == f"Topic t {DEFAULT}"
            printed = kafka.try_tool(
                "kafka-configs.sh",
                *("--alter", "--entity-type", "brokers", "--entity-default"),
                *("--add-config", "min.insync.racks=2"),
            ).err
            # The text is broker 3's own if it happens to be the one that answers, else the controller's.
            assert any(f": {words}" in printed for words in (OWN, f"The cluster default {DEFAULT}")), printed
            # Rack a, rack b and the one unnamed rack
            assert kafka.metric(expect.SPAN_PARTITION, topic="t") == 3

            c1.host.write(c1.properties_file, text)
            kafka.kafka.stop("c1")
            kafka.kafka.start("c1")
            topics.set("t", "min.insync.racks", 3)
            kafka.wait_in_sync("t")
            expect.once_each([sent], self.read(kafka, "t"))
            wait_for("the follower's log", lambda: end_offset(c1, "t") == 20 or Pending("short"), 10)


def run_to_its_end(node: KafkaNode) -> tuple[int, str]:
    """Exit code and output of a broker that is expected to end by itself."""
    start = f"{node.distribution.script('kafka-server-start.sh')} {node.properties_file} 2>&1"
    done = node.host.shell(exports(node.marker | node.jvm().environment(node.node, node.logs_dir)) + start, seconds=60)
    return done.code, done.out
