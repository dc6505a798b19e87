"""A stock Python client as a program with the contract of README.md.

    python -m harness.third_party_clients.python_client produce --client kafka-python --bootstrap ... --topic ...
        --producer NAME

Beside the common options it takes some that only tests of Python clients use: --acks, --retries, --request-timeout-ms,
--idempotence off (kafka-python).
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from harness.third_party_clients.output import Records, on_stop, report, report_read

LIBRARIES = ("kafka-python", "confluent-kafka", "aiokafka")
GRACE_S = 30.0  # beyond its own limits a library gets this long to answer


def main() -> None:
    """Runs the verb of the command line."""
    options = _options()
    if options.client == "aiokafka":
        from harness.third_party_clients.aio_client import produce, read
    elif options.client == "kafka-python":
        produce, read = _produce_kafka_python, _read_kafka_python
    else:
        produce, read = _produce_confluent, _read_confluent
    if options.verb == "read":
        read(options)
        return
    partitions = [int(p) for p in options.partitions.split(",")]
    records = Records(options.producer, options.topic, partitions, options.records, options.rate)
    produce(options, records)
    records.summary()


def _options() -> Any:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("produce", "read"):
        sub = verbs.add_parser(verb)
        sub.add_argument("--client", choices=LIBRARIES, required=True)
        sub.add_argument("--bootstrap", required=True)
        sub.add_argument("--topic", required=True)
        sub.add_argument("--records", type=int, default=20)
        if verb == "read":
            sub.add_argument("--idle-seconds", type=float, default=30)
            continue
        sub.add_argument("--producer", required=True)
        sub.add_argument("--rate", type=float, default=0)
        sub.add_argument("--partitions", default="0")
        sub.add_argument("--delivery-timeout-ms", type=int, default=60000)
        sub.add_argument("--request-timeout-ms", type=int, default=30000)
        sub.add_argument("--retries", type=int)
        sub.add_argument("--acks", default="all")
        sub.add_argument("--idempotence", choices=("library", "off"), default="library")
    return parser.parse_args()


def started(options: Any, idempotence: bool) -> None:
    """Reports the library and its version."""
    report("started", producer=options.producer, version=version(options.client), idempotence=idempotence)


def _produce_kafka_python(options: Any, records: Records) -> None:
    from kafka import KafkaProducer
    from kafka.errors import KafkaTimeoutError

    settings: dict[str, Any] = {"delivery_timeout_ms": options.delivery_timeout_ms}
    settings["request_timeout_ms"] = min(options.request_timeout_ms, options.delivery_timeout_ms)
    if options.retries is not None:
        settings["retries"] = options.retries
    if options.retries is not None or options.idempotence == "off":
        settings["enable_idempotence"] = False
    acks = options.acks if options.acks == "all" else int(options.acks)
    producer = KafkaProducer(bootstrap_servers=options.bootstrap, acks=acks, linger_ms=0, **settings)
    started(options, producer.config["enable_idempotence"])
    stop = threading.Event()
    on_stop(stop.set)

    for seq in range(records.count):
        if stop.wait(records.wait_s(seq)):
            break
        try:
            future = producer.send(options.topic, records.sending(seq), partition=records.partition(seq))
        except Exception as e:
            records.raised(seq, e)
            continue
        future.add_callback(lambda sent, seq=seq: records.acknowledged(seq, sent.partition, sent.offset))
        future.add_errback(lambda error, seq=seq: records.raised(seq, error))
    with suppress(KafkaTimeoutError):  # the summary reports of records without an answer
        producer.flush(options.delivery_timeout_ms / 1000 + GRACE_S)
        producer.close(timeout=5)


def _produce_confluent(options: Any, records: Records) -> None:
    from confluent_kafka import Producer

    settings: dict[str, Any] = {
        "bootstrap.servers": options.bootstrap,
        "acks": options.acks,
        "linger.ms": 0,
        "delivery.timeout.ms": options.delivery_timeout_ms,
        "request.timeout.ms": min(options.request_timeout_ms, options.delivery_timeout_ms),
    }
    if options.retries is not None:
        settings["retries"] = options.retries
    producer = Producer(settings)
    started(options, False)
    stop = threading.Event()
    on_stop(stop.set)

    def answers_to(seq: int) -> Callable[[Any, Any], None]:
        def answered(error: Any, message: Any) -> None:
            if error is None:
                records.acknowledged(seq, message.partition(), message.offset())
            else:
                records.failed(seq, str(error.name()))

        return answered

    for seq in range(records.count):
        while not stop.is_set() and (late := records.wait_s(seq)) > 0:
            producer.poll(min(late, 0.1))  # callbacks run in poll only
        if stop.is_set():
            break
        producer.produce(
            options.topic,
            records.sending(seq),
            partition=records.partition(seq),
            on_delivery=answers_to(seq),
        )
    producer.flush(options.delivery_timeout_ms / 1000 + GRACE_S)


def _read_kafka_python(options: Any) -> None:
    from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

    admin = KafkaAdminClient(bootstrap_servers=options.bootstrap)
    topic = admin.describe_topics([options.topic])[0]
    brokers = [b.get("broker_id", b.get("node_id")) for b in admin.describe_cluster()["brokers"]]
    admin.close()
    found = [
        {"partition": p["partition_index"], "leader": p["leader_id"], "replicas": p["replica_nodes"]}
        for p in topic["partitions"]
    ]
    report("metadata", brokers=brokers, partitions=found)
    consumer = KafkaConsumer(bootstrap_servers=options.bootstrap, group_id=None, enable_auto_commit=False)
    partitions = [TopicPartition(options.topic, p["partition"]) for p in found]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    until = Patience(options)
    while until.more():
        for messages in consumer.poll(timeout_ms=200).values():
            for m in messages:
                report_read(m.partition, m.offset, m.value)
                until.got()
    consumer.close(autocommit=False)
    report("summary", records=until.records)


def _read_confluent(options: Any) -> None:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

    settings = {"bootstrap.servers": options.bootstrap, "group.id": "unused", "enable.auto.commit": False}
    consumer = Consumer(settings)
    cluster = consumer.list_topics(options.topic, timeout=options.idle_seconds)
    partitions = cluster.topics[options.topic].partitions.values()
    found = [{"partition": p.id, "leader": p.leader, "replicas": list(p.replicas)} for p in partitions]
    report("metadata", brokers=sorted(cluster.brokers), partitions=found)
    consumer.assign([TopicPartition(options.topic, p["partition"], OFFSET_BEGINNING) for p in found])
    until = Patience(options)
    while until.more():
        message: Any = consumer.poll(0.2)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        report_read(message.partition(), message.offset(), message.value())
        until.got()
    consumer.close()
    report("summary", records=until.records)


class Patience:
    """The end of a reader: it has all records, or none came for some seconds."""

    def __init__(self, options: Any) -> None:
        self.records = 0
        self._wanted = options.records
        self._idle_s = options.idle_seconds
        self._last = time.monotonic()

    def got(self) -> None:
        """One more."""
        self.records += 1
        self._last = time.monotonic()

    def more(self) -> bool:
        """Returns whether to continue."""
        return bool(self.records < self._wanted and time.monotonic() - self._last < self._idle_s)


if __name__ == "__main__":
    main()
