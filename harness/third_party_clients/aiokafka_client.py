"""aiokafka behind the options of python_client."""

from __future__ import annotations

import asyncio
from typing import Any

from harness.third_party_clients.client_contract import GRACE_S, Patience, started
from harness.third_party_clients.output import Records, on_stop, report, report_read


def produce(options: Any, records: Records) -> None:
    """Sends all records and waits for the answers."""
    asyncio.run(_produce(options, records))


def read(options: Any) -> None:
    """Asks for metadata, then reads from the beginning."""
    asyncio.run(_read(options))


async def _produce(options: Any, records: Records) -> None:
    from aiokafka import AIOKafkaProducer

    # The library has one time-out: for a request, and for all that happens to a batch.
    limit_ms = options.delivery_timeout_ms
    producer = AIOKafkaProducer(bootstrap_servers=options.bootstrap, acks="all", request_timeout_ms=limit_ms)
    await producer.start()
    started(options, False)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    on_stop(lambda: loop.call_soon_threadsafe(stop.set))
    answers = set()
    for seq in range(records.count):
        try:
            await asyncio.wait_for(stop.wait(), records.wait_s(seq))
        except TimeoutError:
            answers.add(asyncio.create_task(_one(producer, options.topic, records, seq)))
            continue
        break
    if answers:
        await asyncio.wait(answers, timeout=limit_ms / 1000 + GRACE_S)
    await asyncio.wait_for(producer.stop(), GRACE_S)


async def _one(producer: Any, topic: str, records: Records, seq: int) -> None:
    try:
        sent = await producer.send_and_wait(topic, records.sending(seq), partition=records.partition(seq))
    except Exception as e:
        records.raised(seq, e)
    else:
        records.acknowledged(seq, sent.partition, sent.offset)


async def _read(options: Any) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition
    from aiokafka.admin import AIOKafkaAdminClient

    admin = AIOKafkaAdminClient(bootstrap_servers=options.bootstrap)
    await admin.start()
    topic = (await admin.describe_topics([options.topic]))[0]
    brokers = [b["node_id"] for b in (await admin.describe_cluster())["brokers"]]
    await admin.close()
    found = [{k: p[k] for k in ("partition", "leader", "replicas")} for p in topic["partitions"]]
    report("metadata", brokers=brokers, partitions=found)
    consumer = AIOKafkaConsumer(bootstrap_servers=options.bootstrap, enable_auto_commit=False)
    await consumer.start()
    try:
        partitions = [TopicPartition(options.topic, p["partition"]) for p in found]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        until = Patience(options)
        while until.more():
            for messages in (await consumer.getmany(timeout_ms=200)).values():
                for m in messages:
                    report_read(m.partition, m.offset, m.value)
                    until.got()
    finally:
        await consumer.stop()
    report("summary", records=until.records)
