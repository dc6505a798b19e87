"""A producer of records with a stock Python client, as a program: one JSON line for each record as it is answered.

    python -m harness.services.python_client --client kafka-python --bootstrap ... --topic ... --producer NAME

Lines have the columns of the run folder's acks table. All records are sent first and then waited for: it shows what a
client is told in the end, not how long that takes. Exit code 0 whatever the records ended with.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from harness.services.payload import value

Report = Callable[[int, int, int, str, str], None]  # partition, offset, seq, result, cause


def main() -> None:
    """Runs the client named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", choices=("kafka-python", "confluent-kafka"), required=True)
    for name in ("bootstrap", "topic", "producer"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--records", type=int, default=20)
    parser.add_argument("--partition", type=int, default=0)
    parser.add_argument("--delivery-timeout-ms", type=int, default=60000)
    parser.add_argument("--request-timeout-ms", type=int, default=30000)
    parser.add_argument("--retries", type=int)
    parser.add_argument("--acks", default="all")
    options = parser.parse_args()
    due = [time.time_ns() + n for n in range(options.records)]
    due_mono = time.monotonic_ns()
    lock = threading.Lock()

    def report(partition: int, offset: int, seq: int, result: str, cause: str) -> None:
        row = {
            "producer": options.producer,
            "seq": seq,
            "topic": options.topic,
            "partition": partition,
            "offset": offset,
            "due_ns": due[seq],
            "sent_ns": due[seq],
            "done_ns": time.time_ns(),
            "due_mono_ns": due_mono + seq,
            "result": result,
            "cause": cause,
        }
        with lock:
            print(json.dumps(row), flush=True)

    values = [value(options.producer, seq, at) for seq, at in enumerate(due)]
    {"kafka-python": _kafka_python, "confluent-kafka": _confluent}[options.client](options, values, report)


def _kafka_python(options: Any, values: list[bytes], report: Report) -> None:
    from kafka import KafkaProducer

    settings: dict[str, Any] = {"delivery_timeout_ms": options.delivery_timeout_ms}
    settings["request_timeout_ms"] = min(options.request_timeout_ms, options.delivery_timeout_ms)
    if options.retries is not None:
        settings |= {"retries": options.retries, "enable_idempotence": False}
    acks = options.acks if options.acks == "all" else int(options.acks)
    producer = KafkaProducer(bootstrap_servers=options.bootstrap, acks=acks, linger_ms=0, **settings)
    futures = [producer.send(options.topic, v, partition=options.partition) for v in values]
    for seq, future in enumerate(futures):
        try:
            sent = future.get(timeout=options.delivery_timeout_ms / 1000 + 30)
        except Exception as e:  # the library has an exception class for each answer; its name is what a user sees
            report(options.partition, -1, seq, type(e).__name__, type(e.__cause__).__name__ if e.__cause__ else "")
        else:
            report(sent.partition, sent.offset, seq, "OK", "")
    producer.close(timeout=5)


def _confluent(options: Any, values: list[bytes], report: Report) -> None:
    from confluent_kafka import Producer

    settings: dict[str, Any] = {
        "bootstrap.servers": options.bootstrap,
        "acks": options.acks,
        "linger.ms": 0,
        "delivery.timeout.ms": options.delivery_timeout_ms,
        "request.timeout.ms": options.request_timeout_ms,
    }
    if options.retries is not None:
        settings["retries"] = options.retries
    producer = Producer(settings)

    def answered(seq: int) -> Callable[[Any, Any], None]:
        def callback(error: Any, message: Any) -> None:
            if error is None:
                report(message.partition(), message.offset(), seq, "OK", "")
            else:
                report(options.partition, -1, seq, str(error.name()), "")

        return callback

    for seq, v in enumerate(values):
        producer.produce(options.topic, v, partition=options.partition, on_delivery=answered(seq))
    producer.flush(options.delivery_timeout_ms / 1000 + 30)


if __name__ == "__main__":
    main()
