"""A stock Python client as a program with the contract of README.md.

    python -m harness.third_party_clients.python_client produce --client kafka-python --bootstrap ... --topic ...
        --producer NAME

Beside the common options it takes some that only tests of Python clients use: --acks, --retries, --request-timeout-ms,
--idempotence off (kafka-python).
"""

from __future__ import annotations

import argparse
from typing import Any

from harness.third_party_clients.output import Records

LIBRARIES = ("kafka-python", "confluent-kafka", "aiokafka")


def main() -> None:
    """Runs the verb of the command line with its library."""
    options = _options()
    if options.client == "aiokafka":
        from harness.third_party_clients.aiokafka_client import produce, read
    elif options.client == "kafka-python":
        from harness.third_party_clients.kafka_python_client import produce, read
    else:
        from harness.third_party_clients.confluent_client import produce, read
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


if __name__ == "__main__":
    main()
