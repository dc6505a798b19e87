"""A stock Python client as a program with the contract of README.md.

    python -m harness.third_party_clients.python_client produce --client kafka-python --bootstrap ... --topic ...
        --producer NAME

Beside the common options it takes some that only tests of Python clients use: --acks, --retries, --request-timeout-ms,
--idempotence off (kafka-python).
"""

from __future__ import annotations

from typing import Any

from harness.third_party_clients.options import common
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
    parser, produce, read = common()
    for verb in (produce, read):
        verb.add_argument("--client", choices=LIBRARIES, required=True)
    produce.add_argument("--request-timeout-ms", type=int, default=30000)
    produce.add_argument("--retries", type=int)
    produce.add_argument("--acks", default="all")
    produce.add_argument("--idempotence", choices=("library", "off"), default="library")
    return parser.parse_args()


if __name__ == "__main__":
    main()
