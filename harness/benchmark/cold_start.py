"""Size of the archive and cold start of a node, beside the stock distribution of the same layout.

    python -m harness.benchmark.cold_start [--rounds 10] [--json FILE]

A start is that of a user who unpacked the archive: Kafka's own scripts and JVM flags, no class archive, a
node that is broker and controller; it lasts from the script's start until the broker answers and is registered. The
distributions take turns, and the order changes with each round. Prints a table.
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, NoReturn

import psutil

from harness.benchmark.printed_table import print_table
from harness.cluster.cluster_view import view
from harness.common import markdown
from harness.common.errors import RackspanError
from harness.common.process_tree import end_on_signals
from harness.common.wait import Pending, wait_for
from harness.distribution.locate import Distribution, find

VARIANTS = ("stock", "rackspan")
SECONDS = 120.0  # for a start on a busy machine


@dataclass(frozen=True)
class Start:
    """One start: seconds until the broker is registered, processor seconds by then, resident memory in MiB."""

    variant: str
    round: int
    seconds: float
    cpu_seconds: float
    resident_mib: float


def measure(distribution: Distribution, variant: str, number: int) -> Start:
    """Formats a node's storage, starts the node once, and ends it. Raises RackspanError."""
    with tempfile.TemporaryDirectory(prefix="rackspan-cold-start-") as name:
        folder, (port, controller) = Path(name), _free_ports(2)
        file = folder / "server.properties"
        file.write_text(_properties(folder, port, controller), encoding="utf-8")
        environment = {"PATH": "/usr/bin:/bin", "LOG_DIR": str(folder / "logs")}
        storage = [distribution.script("kafka-storage.sh"), "format", "--standalone", "-t", "AAAAAAAAAAAAAAAAAAAAAQ"]
        _execute([*storage, "-c", str(file)], environment)
        begin = time.monotonic()
        with _node([distribution.script("kafka-server-start.sh"), str(file)], environment, folder) as process:

            def registered() -> bool | Pending:
                if process.poll() is not None:
                    _fail("the node ended while it started", (folder / "node.log").read_text(errors="replace"))
                return 1 in view([f"127.0.0.1:{port}"]).racks or Pending("not registered")

            wait_for(f"a start of {variant}", registered, SECONDS, every=0.02, do="try again", at_once=_Failed)
            seconds = time.monotonic() - begin
            jvm = psutil.Process(process.pid)  # the script became the JVM
            used = jvm.cpu_times()
            return Start(variant, number, seconds, used.user + used.system, jvm.memory_info().rss / 2**20)


class _Failed(RackspanError):
    """A start that cannot succeed any more."""


def _fail(what: str, text: str) -> NoReturn:
    raise _Failed(what, observed="\n".join(text.splitlines()[-20:]) or "it wrote nothing", do="correct what it names")


def _properties(folder: Path, port: int, controller: int) -> str:
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "broker.rack": "a",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": folder / "data",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _execute(command: Sequence[str], environment: Mapping[str, str]) -> None:
    ran = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ran.returncode:
        _fail(f"{Path(command[0]).name} failed", ran.stdout + ran.stderr)


@contextmanager
def _node(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "node.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def summary(starts: Sequence[Start], sizes: Mapping[str, int]) -> str:
    """A table of both variants: the archive's bytes and the medians of the starts, each beside its ratio to stock; of a
    start's seconds the lowest and the highest ratio of a round, too.
    """
    rows: list[tuple[str, str, str, str, str]] = []
    stock, own = (sizes[v] for v in VARIANTS)
    rows.append(("archive, MB", f"{stock / 1e6:.1f}", f"{own / 1e6:.1f}", f"{own / stock:.3f}", ""))
    measured = {"start, s": "seconds", "processor time of it, s": "cpu_seconds", "resident memory, MiB": "resident_mib"}
    for label, name in measured.items():
        by_round = [[getattr(s, name) for s in starts if s.variant == v] for v in VARIANTS]
        ratios = [b / a for a, b in zip(*by_round, strict=True)]
        a, b = (median(values) for values in by_round)
        rows.append((label, f"{a:.2f}", f"{b:.2f}", f"{median(ratios):.3f}", f"{min(ratios):.3f} to {max(ratios):.3f}"))
    return markdown.table(("", "stock", "Rackspan", "ratio", "lowest and highest of a round"), rows, right=range(1, 5))


def run(rounds: int) -> tuple[list[Start], dict[str, int]]:
    """The starts of all rounds, and the archives' sizes in bytes. Raises RackspanError."""
    found = {variant: find(variant) for variant in VARIANTS}
    sizes = {v: d.home.with_name(f"{d.home.name}.tgz").stat().st_size for v, d in found.items()}
    starts = []
    for number in range(rounds):
        for variant in VARIANTS if number % 2 == 0 else VARIANTS[::-1]:
            starts.append(measure(found[variant], variant, number))
            print(f"round {number + 1} of {rounds}: {variant} {starts[-1].seconds:.2f} s", file=sys.stderr)
    return starts, sizes


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; exit codes as those of the command."""
    end_on_signals()
    parser = argparse.ArgumentParser(prog="python -m harness.benchmark.cold_start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, metavar="COUNT")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write each start there")
    options = parser.parse_args(arguments)

    def measured() -> tuple[dict[str, Any], str]:
        starts, sizes = run(max(1, options.rounds))
        return {"sizes": sizes, "starts": [asdict(s) for s in starts]}, summary(starts, sizes)

    return print_table(measured, options.json)


if __name__ == "__main__":
    sys.exit(main())
