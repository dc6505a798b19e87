"""confluent-kafka behind the options of python_client."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from harness.third_party_clients.client_contract import GRACE_S, Patience, started
from harness.third_party_clients.output import Records, on_stop, report, report_read


def produce(options: Any, records: Records) -> None:
    """Sends all records and waits for the answers."""
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
            producer.poll(min(late, 0.1))  # it delivers answers only while it is polled
        if stop.is_set():
            break
        producer.produce(
            options.topic,
            records.sending(seq),
            partition=records.partition(seq),
            on_delivery=answers_to(seq),
        )
    producer.flush(options.delivery_timeout_ms / 1000 + GRACE_S)


def read(options: Any) -> None:
    """Asks for metadata, then reads from the beginning."""
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
