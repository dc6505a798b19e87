"""kafka-python behind the options of python_client."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from harness.third_party_clients.client_contract import GRACE_S, Patience, started
from harness.third_party_clients.output import Records, on_stop, report, report_read


def produce(options: Any, records: Records) -> None:
    """Sends all records and waits for the answers."""
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


def read(options: Any) -> None:
    """Asks for metadata, then reads from the beginning."""
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
