"""Old brokers, old clients and Kafka's own tools: each says clearly whether it knows acks=min.insync.replicas."""

from __future__ import annotations

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.load.client import LoadClientError
from system_tests.lib import acks, expect
from system_tests.lib.base import PATIENT, RackTest


class Compatibility(RackTest):
    """A cluster in the middle of an upgrade, and one where all brokers know the value."""

    def test_refused_by_brokers_that_do_not_know_it(self) -> None:
        """Broker 3 is a stock one; ours answer at level 0 of rackspan.version as it does, at once and once."""
        nodes = {"c1": {"distribution": "stock"}}
        spec = self.spec("a:1,b:1,c:1", settings=PATIENT, nodes=nodes, features={"rackspan.version": 0})
        with self.racks(spec) as kafka:
            topics = self.topics(kafka)
            for topic, replicas in (("ours", [1, 2, 3]), ("old", [3, 1, 2])):
                topics.create(topic, [replicas], min_insync_replicas=2)
                for name, idempotence in (("idempotent", None), ("plain", False)):
                    producer = self.producer(
                        kafka,
                        f"{name}-{topic}",
                        topic,
                        acks=acks.QUORUM,
                        rate=20,
                        duration=0.5,
                        idempotence=idempotence,
                    )
                    refused = producer.finish()
                    expect.all_ended_with(refused, 10, "INVALID_REQUIRED_ACKS")
                    longest = max((r["done_ns"] - r["sent_ns"]) / 1e9 for r in refused.rows)
                    assert longest < expect.PROMPT_S, f"{name} was answered after {longest:.1f} s"
                    last = producer.process.lines[-1]
                    assert last["metrics"]["record-retry-total"] == 0, last
                sent = self.produce(kafka, f"all-{topic}", topic, 10)
                expect.all_acknowledged(sent, 10)
                read = self.read(kafka, topic)
                expect.once_each([sent], read)
                assert len(read) == 10, "a refused record is in the log"

    def test_refused_by_clients_that_do_not_know_it(self) -> None:
        """Our client and the tools know it, the stock client does not."""
        with self.racks(self.spec("a:1,b:1,c:1", settings=PATIENT)) as kafka:
            self.topics(kafka).create("ours", [[1, 2, 3]], min_insync_replicas=2)
            sent = {mode: self.produce(kafka, f"ours{mode}", "ours", 10, acks=mode) for mode in (acks.QUORUM, "all")}
            for s in sent.values():
                expect.all_acknowledged(s, 10)
            self.stock_client(kafka)
            self.tools(kafka)
            read = self.read(kafka, "ours")
            expect.once_each(sent.values(), read)
            assert len(read) == 20 + 4 * 5, f"{len(read)} in the log"

    def stock_client(self, kafka: KafkaRacks) -> None:
        """The stock Java client does not begin with an acks that it does not know."""
        for value in (acks.QUORUM, acks.NUMBER):
            try:
                self.producer(kafka, f"stock{value}", "ours", client="stock", acks=value)
            except LoadClientError as e:
                words = f"ConfigException: Invalid value {value} for configuration acks: String must be one of: all"
                assert words in e.observed, e.observed
            else:
                raise AssertionError(f"the stock client began with acks={value}")

    def tools(self, kafka: KafkaRacks) -> None:
        """Both tools that produce take the name and the number, and name what they take when given another."""
        before = acks.requests(kafka)[acks.QUORUM]
        console = ("kafka-console-producer.sh", "--topic", "ours", "--sync")
        kafka.tool(*console, "--request-required-acks", acks.QUORUM, typed="1\n2\n3\n4\n5\n")
        kafka.tool(*console, "--command-property", f"acks={acks.NUMBER}", typed="1\n2\n3\n4\n5\n")
        perf = ("kafka-producer-perf-test.sh", "--topic", "ours", "--num-records", "5", "--record-size", "50")
        for value in (acks.QUORUM, acks.NUMBER):
            printed = kafka.tool(*perf, "--throughput", "-1", "--command-property", f"acks={value}")
            assert "5 records sent" in printed, printed
        wait_for("the requests to count", lambda: counted(kafka, before + 4), 20)
        bad = kafka.try_tool(*perf, "--throughput", "-1", "--command-property", "acks=2")
        values = f"all, -1, 0, 1, {acks.NUMBER}, {acks.QUORUM}"
        words = f"Invalid value 2 for configuration acks: String must be one of: {values}"
        assert bad.code != 0 and words in bad.out + bad.err, bad


def counted(kafka: KafkaRacks, least: int) -> bool | Pending:
    """True if the brokers have answered that many requests."""
    now = acks.requests(kafka)[acks.QUORUM]
    return now >= least or Pending(f"{now} of {least}")
