"""kcat as a program with the contract of README.md: a process of it for each partition, fed by a pipe.

    python -m harness.third_party_clients.kcat_client produce --bootstrap ... --topic ... --producer NAME

kcat reports deliveries without naming the record. With one request in flight it retries in order, so the n-th answer of
a process is that of its n-th record.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections import deque
from typing import Any

from harness.common.wait import pause
from harness.third_party_clients.client_contract import Patience
from harness.third_party_clients.options import common
from harness.third_party_clients.output import Records, on_stop, report, report_read

DELIMITER = b"\n-- end of record --\n"
BLOCK = 1024  # kcat reads its standard input in blocks of this size, and waits for a complete one
# What kcat prints of one record. It names a broker's error as "Broker: ...", and one of its own as "Local: ...".
ANSWER = re.compile(r"% (?:Message delivered to partition (\d+) \(offset (\d+)\)|Delivery failed for message: (.+))")
PARTITION, OFFSET, SIZE = "%p", "%o", "%S"


def main() -> None:
    """Runs the verb of the command line."""
    options = _options()
    if options.verb == "read":
        read(options)
        return
    partitions = [int(p) for p in options.partitions.split(",")]
    records = Records(options.producer, options.topic, partitions, options.records, options.rate)
    produce(options, records, partitions)
    records.summary()


def produce(options: Any, records: Records, partitions: list[int]) -> None:
    """Sends all records and waits for the answers."""
    processes = {p: _Process(options, records, p) for p in partitions}
    report("started", producer=options.producer, version=_version(), idempotence=False)
    stop = threading.Event()
    on_stop(stop.set)
    for seq in range(records.count):
        if stop.wait(records.wait_s(seq)):
            break
        processes[records.partition(seq)].send(seq)
    for process in processes.values():
        process.end()


class _Process:
    """A kcat that produces to one partition."""

    def __init__(self, options: Any, records: Records, partition: int) -> None:
        limit = () if options.retries else ("-X", f"message.timeout.ms={options.delivery_timeout_ms}")
        self._records = records
        self._open: deque[int] = deque()
        self._kcat = subprocess.Popen(
            ["kcat", "-P", "-b", options.bootstrap, "-t", options.topic, "-p", str(partition), "-D", DELIMITER.decode(),
             "-v", "-v", "-X", "acks=all", "-X", "max.in.flight=1", "-X", "linger.ms=0", *limit],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def send(self, seq: int) -> None:
        value = self._records.sending(seq).ljust(BLOCK - len(DELIMITER), b"\0")
        assert self._kcat.stdin is not None and DELIMITER not in value
        self._open.append(seq)
        self._kcat.stdin.write(value + DELIMITER)
        self._kcat.stdin.flush()

    def end(self) -> None:
        """Waits for the answers that are missing: kcat ends when it has them all."""
        assert self._kcat.stdin is not None
        self._kcat.stdin.close()
        self._listener.join()
        self._kcat.wait()

    def _listen(self) -> None:
        assert self._kcat.stderr is not None
        for line in self._kcat.stderr:
            found = ANSWER.match(line.decode(errors="replace").strip())
            if found is None:
                continue
            partition, offset, error = found.groups()
            seq = self._open.popleft()
            if error is None:
                self._records.acknowledged(seq, int(partition), int(offset))
            else:
                self._records.failed(seq, error)


def read(options: Any) -> None:
    """Asks for metadata, then reads from the beginning."""
    asked = ["kcat", "-b", options.bootstrap, "-t", options.topic]
    listed = subprocess.run([*asked, "-L", "-J"], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    cluster = json.loads(listed.stdout)
    partitions = [
        {"partition": p["partition"], "leader": p["leader"], "replicas": [r["id"] for r in p["replicas"]]}
        for p in cluster["topics"][0]["partitions"]
    ]
    report("metadata", brokers=sorted(b["id"] for b in cluster["brokers"]), partitions=partitions)
    until = Patience(options)
    kcat = subprocess.Popen(
        [*asked, "-C", "-o", "beginning", "-q", "-u", "-f", f"{PARTITION} {OFFSET} {SIZE}\\n%s"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    reader = threading.Thread(target=_read, args=(kcat, until), daemon=True)
    reader.start()
    while until.more():
        pause(0.05)
    kcat.terminate()
    reader.join()
    kcat.wait()
    report("summary", records=until.records)


def _read(kcat: subprocess.Popen[bytes], until: Patience) -> None:
    assert kcat.stdout is not None
    while (head := kcat.stdout.readline().split()) and until.more():
        partition, offset, size = map(int, head)
        data = kcat.stdout.read(size)
        report_read(partition, offset, data)
        until.got()


def _version() -> str:
    printed = subprocess.run(["kcat", "-V"], check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = re.search(r"Version ([\w.]+)", printed.stdout + printed.stderr)
    return found.group(1) if found else ""


def _options() -> Any:
    parser, produce, _ = common()
    produce.add_argument("--retries", choices=("library",))
    return parser.parse_args()


if __name__ == "__main__":
    main()
