"""The options that the contract of README.md gives to every client, for programs in Python."""

from __future__ import annotations

import argparse


def common() -> tuple[argparse.ArgumentParser, argparse.ArgumentParser, argparse.ArgumentParser]:
    """A parser, and those of its verbs produce and read, to which a program may add options of its own."""
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    produce, read = verbs.add_parser("produce"), verbs.add_parser("read")
    for verb in (produce, read):
        verb.add_argument("--bootstrap", required=True)
        verb.add_argument("--topic", required=True)
        verb.add_argument("--records", type=int, default=20)
    read.add_argument("--idle-seconds", type=float, default=30)
    produce.add_argument("--producer", required=True)
    produce.add_argument("--rate", type=float, default=0)
    produce.add_argument("--partitions", default="0")
    produce.add_argument("--delivery-timeout-ms", type=int, default=60000)
    return parser, produce, read
